/** A field to paste the fingerprint that the reader received in another way. */
import { compareFingerprint, type Comparison } from './compare-key.js'
import { element } from './elements.js'

/**
 * The field, with its result.
 * @param onResult called with each result; undefined if the field is empty
 */
export function fingerprintField(
  fingerprints: readonly string[],
  onResult: (result: Comparison | undefined) => void,
): HTMLElement {
  const input = document.createElement('input')
  input.id = 'fingerprint'
  input.type = 'text'
  input.autocomplete = 'off'
  input.spellcheck = false
  input.placeholder = 'sha256:…'
  const label = document.createElement('label')
  label.htmlFor = input.id
  label.append('Paste the fingerprint that you received in another way:')
  const output = document.createElement('output')
  output.htmlFor.add(input.id)
  input.addEventListener('input', () => {
    const result = compareFingerprint(input.value, fingerprints)
    output.className = result?.state ?? ''
    output.textContent = result?.sentence ?? ''
    onResult(result)
  })
  return element('div', 'compare', label, input, output)
}
