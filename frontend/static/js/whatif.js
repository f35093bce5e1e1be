// The loop between controls and server: one request at a time, and after it only the newest wish. A drag thus moves the
// charts all along; aborting each request for the next would leave them still until the hand rests.
export class Loop {
  constructor(ask, show, fail) {
    Object.assign(this, { ask, show, fail, wish: null, running: false });
  }

  want(state) {
    this.wish = { state, since: this.wish?.since ?? performance.now() };
    if (!this.running) this.run();
  }

  async run() {
    this.running = true;
    while (this.wish) {
      const { state, since } = this.wish;
      this.wish = null;
      try {
        const answer = await this.ask(state);
        await this.show(answer, state, since);
      } catch (error) {
        this.fail(error, state);
      }
    }
    this.running = false;
  }
}

// The fields that differ from the scenario as shipped: only they are the user's, all others keep their source.
export function changes(scenario, state) {
  const set = {};
  const { threshold, split, bandwidth } = scenario;
  if (threshold && state.threshold !== threshold.value) set[threshold.path] = state.threshold;
  if (state.split !== split.value) {
    set[split.prefill_path] = state.split;
    set[split.decode_path] = split.instances - state.split;
  }
  if (bandwidth && state.bandwidth !== bandwidth.value) set[bandwidth.path] = state.bandwidth;
  return set;
}

// What is not stored is sent whole.
export const request = (scenario, state) => ({ scenario: scenario.document ?? scenario.name, form: state.form, set: changes(scenario, state) });

// Which control a refused field belongs to; "" is the form as a whole.
export function controlOf(scenario, field) {
  const { threshold, split, bandwidth } = scenario;
  if (field === threshold?.path) return "threshold";
  if (field === split.prefill_path || field === split.decode_path) return "split";
  if (field === bandwidth?.path) return "bandwidth";
  return "";
}
