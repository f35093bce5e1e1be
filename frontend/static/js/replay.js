// A replay on its job's page: its charts.
import { mount } from "./charts/base.js";
import { replayCourse } from "./charts/replay-course.js";
import { replayTtft } from "./charts/replay-ttft.js";

export function showReplay(course, times) {
  mount("replay-course", replayCourse).show(course);
  mount("replay-ttft", replayTtft).show(times);
}
