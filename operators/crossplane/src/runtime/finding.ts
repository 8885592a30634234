/** A finding about a field, for its author, with the remedy. */
export interface Finding {
  /** `spec.deploymentTemplate.spec.template.containers`. */
  readonly path: string;
  /** A whole sentence that names the path, without a full stop. */
  readonly message: string;
}

/** A problem with a field and its remedy, as one sentence. */
export function finding(path: string, problem: string, remedy: string): Finding {
  return { path, message: `${path} ${problem}; ${remedy}` };
}
