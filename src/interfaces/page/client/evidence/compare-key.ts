/** Compares the fingerprint that the reader received in another way with those in the file. */
const DIGITS = 64

/** The result of a comparison, as it is shown. */
export interface Comparison {
  readonly state: 'ok' | 'failed' | 'open'
  readonly sentence: string
}

/** The digits of a fingerprint, in any usual spelling. */
const digitsOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/^\s*sha-?256\s*[:=]?/u, '')
    .replace(/[\s:]/gu, '')

/** Compares a pasted text with the fingerprints in the file; undefined if the text is empty. */
export function compareFingerprint(pasted: string, fingerprints: readonly string[]): Comparison | undefined {
  if (pasted.trim() === '') return undefined
  const digits = digitsOf(pasted)
  if (!/^[0-9a-f]*$/u.test(digits) || digits.length !== DIGITS)
    return {
      state: 'open',
      sentence: `This is no complete fingerprint. It has ${String(DIGITS)} digits from 0 to 9 and a to f, sometimes after “sha256:”.`,
    }
  return fingerprints.some((fingerprint) => digitsOf(fingerprint) === digits)
    ? { state: 'ok', sentence: 'The same key. This counts if you did not get the fingerprint together with this file.' }
    : {
        state: 'failed',
        sentence:
          'Another key. The owner of the fingerprint that you pasted did not sign this file: do not rely on it.',
      }
}
