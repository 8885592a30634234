export { formatProblem, jsonField } from './access-log-format.ts';
export { type ChangeClass, changeClassesOf, disturbanceOf, type ServerName } from './change-class.ts';
export { type Action, actionsFor, type Change, changesBetween } from './changes.ts';
export {
  defaultConfiguration,
  type Effective,
  type EffectiveConfiguration,
  type EffectiveInput,
  effectiveConfiguration,
  type FlagValue,
  type Origin,
  originText,
} from './effective.ts';
export { type EnvoyPatchSpec, envoyPatchProblems } from './envoy-patches.ts';
export { DEFAULT_CONTENT_TYPE, type ErrorPageSpec, errorPageProblems, MAX_PAGE_BYTES } from './error-pages.ts';
export * from './file/index.ts';
export {
  OUTLIER_DEFAULTS,
  type OutlierDetectionSpec,
  outlierProblems,
} from './outlier-detection.ts';
export { type Problem, type ProblemReason, type ProblemType, problemText } from './problem.ts';
export { FEATURES, type ParsedServeFlags, parseServeFlags, SERVE_FLAGS } from './serve-flags.ts';
export { parseTimeout, type Timeout } from './timeout.ts';
