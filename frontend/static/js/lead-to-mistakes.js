// A form that came back: what is wrong with it is read first.
import { leadToMistakes } from "./mistakes.js";

leadToMistakes();
