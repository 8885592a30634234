/** Freezes plain data to its leaves; what is frozen already is taken as frozen throughout. */
export function freezeDeep(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value) || ArrayBuffer.isView(value)) return;
  Object.freeze(value);
  for (const part of Object.values(value)) freezeDeep(part);
}
