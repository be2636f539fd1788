/** Prepares texts from any source to be split and cut: without terminal escapes and lone surrogates. */

/** Everything that some program treats as a line break. */
// oxlint-disable-next-line no-control-regex
export const LINE_BREAK = /\r\n|[\n\r\u000b\u000c\u0085\u2028\u2029]/u
// Terminal colours and cursor movements: they cost tokens and carry no information.
// oxlint-disable-next-line no-control-regex
const ANSI = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/gu
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000e-\u001f\u007f]/gu

/** Text without terminal escapes, control characters and lone surrogates, which servers refuse. */
export function cleanText(text: string): string {
  return text.toWellFormed().replace(ANSI, '').replace(CONTROL, '')
}

const isLowSurrogate = (text: string, index: number): boolean => {
  const unit = text.charCodeAt(index)
  return unit >= 0xdc00 && unit <= 0xdfff
}

/** The first `units` UTF-16 units of a text, or one fewer if a surrogate pair would be split. */
export function headOf(text: string, units: number): string {
  return text.slice(0, isLowSurrogate(text, units) ? units - 1 : units)
}

/** The last `units` UTF-16 units of a text, or one fewer if a surrogate pair would be split. */
export function tailOf(text: string, units: number): string {
  const start = text.length - units
  return text.slice(isLowSurrogate(text, start) ? start + 1 : start)
}
