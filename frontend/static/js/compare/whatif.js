// The sliders of a comparison: what they change stands in the address, deployment by deployment.
import { Controls } from "../controls.js";
import { changes } from "../whatif.js";

export class DeploymentControls extends Controls {
  constructor(form, scenarios, view, changed) {
    super(form, scenarios, () => this.moved());
    Object.assign(this, { view, changed });
    // Before the form takes its defaults again, the address must have none of this deployment's changes.
    form.addEventListener("reset", () => this.view.change(this.scenario.name, this.paths(), {}), { capture: true });
    this.load(this.defaults());
  }

  paths() {
    const { threshold, split, bandwidth } = this.scenario;
    return [threshold?.path, split.prefill_path, split.decode_path, bandwidth?.path].filter(Boolean);
  }

  // As stored, or as the address says.
  defaults() {
    const stored = super.defaults();
    if (!this.view) return stored;
    const { name, threshold, split, bandwidth } = this.scenario;
    const held = (path, value) => (path ? this.view.held(name, path) ?? value : value);
    return {
      ...stored,
      threshold: held(threshold?.path, stored.threshold),
      split: held(split.prefill_path, stored.split),
      bandwidth: held(bandwidth?.path, stored.bandwidth),
    };
  }

  // The split in words, too, before anything is moved.
  load(state) {
    super.load(state);
    this.read();
  }

  moved() {
    const state = this.read();
    if (!state) return;
    this.view.change(this.scenario.name, this.paths(), changes(this.scenario, state));
    this.changed();
  }
}
