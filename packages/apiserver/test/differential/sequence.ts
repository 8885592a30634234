// A sequence of requests that two servers get alike. It is plain JSON, so that one that found a difference can be kept in a file. Texts may
// refer to earlier answers of the server itself, which differ from server to server:
//   {ns}         the sequence's own namespace
//   @rv:PATH     the resourceVersion in which the object at this path was last seen; @oldrv:PATH: first seen
//   @uid:PATH    its uid
//   @name:ID     the name in the answer to request ID, also as {name:ID} in paths
//   @continue:ID the continue token in that answer; @listrv:ID the resourceVersion of that list

export interface DiffRequest {
  /** The number of this request in its sequence; it stays when others are left out. */
  id: number;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  query?: Record<string, string>;
  /** A JSON value, sent as its text. */
  body?: unknown;
  /** In place of a body: sent as it is. */
  text?: string;
  /** In place of a body: the object that was last seen at this path, changed by a merge patch. */
  edit?: { path: string; patch: unknown };
  contentType?: string;
  accept?: string;
  /** Whom the administrator acts for. */
  as?: string;
  /** A watch that continues until the sequence is over; its events are compared at the end. */
  watch?: boolean;
  /** Repeated until the two agree, for the delayed work of controllers. */
  eventually?: boolean;
}

export interface Sequence {
  /** The namespace, and the beginning of the names of cluster-scoped objects. */
  name: string;
  requests: DiffRequest[];
}

/** A server's answer, with all values replaced that may differ. */
export interface Answer {
  id: number;
  status: number;
  contentType: string;
  warnings: string[];
  body: unknown;
  /** The events of a watch. */
  events?: unknown[];
}
