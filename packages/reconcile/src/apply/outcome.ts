/** A write that was not created because it would have taken what is another owner's. Only a change of the object helps. */
export class WriteConflict extends Error {
  override readonly name = 'WriteConflict';
}

/** A write that was not sent because the lease was lost while it was being prepared. The next holder sends it. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}
