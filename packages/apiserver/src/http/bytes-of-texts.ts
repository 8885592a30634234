/** The bytes of some texts, one after the other. Joined first, long texts would be copied once more, in V8's heap. */
export function bytesOfTexts(...texts: readonly string[]): Buffer {
  const bytes = Buffer.allocUnsafe(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0));
  let at = 0;
  for (const text of texts) at += bytes.write(text, at);
  return bytes;
}
