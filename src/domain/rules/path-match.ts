/** Compares paths with names of files and folders, which may have `*` and `**`. Without regular expressions: a rule is text of a user. */

const segmentsOf = (path: string, isCased: boolean): readonly string[] =>
  (isCased ? path : path.toLowerCase())
    .replaceAll('\\', '/')
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.' && segment !== '~')

/** Whether a segment fits one with `*`, in linear steps for each star. */
function fits(segment: string, wanted: string): boolean {
  const parts = wanted.split('*')
  const [first = '', ...rest] = parts
  if (rest.length === 0) return segment === wanted
  const last = rest.at(-1) ?? ''
  if (!segment.startsWith(first) || !segment.endsWith(last) || segment.length < first.length + last.length) return false
  let at = first.length
  for (const part of rest.slice(0, -1)) {
    const found = segment.indexOf(part, at)
    if (found < 0 || found + part.length > segment.length - last.length) return false
    at = found + part.length
  }
  return true
}

/** Whether segments begin with the wanted ones; `**` matches any number of them. */
function begins(segments: readonly string[], wanted: readonly string[]): boolean {
  const [first, ...rest] = wanted
  if (first === undefined) return true
  if (first === '**') return segments.some((_segment, at) => begins(segments.slice(at), rest)) || rest.length === 0
  const [segment, ...others] = segments
  return segment !== undefined && fits(segment, first) && begins(others, rest)
}

/** Longer paths and names are compared by their last segments only. */
const MOST_SEGMENTS = 40

/**
 * Whether a path is a target, or under it: the target may be any part of the path that begins at a folder.
 * @param isCased `Config` and `config` are two folders
 */
export function isUnder(path: string, target: string, isCased = false): boolean {
  // `src/**` is the folder and all that is in it.
  const wanted = segmentsOf(target.replace(/(?:\/\*+)+\/?$/u, ''), isCased)
  if (wanted.length === 0 || wanted.length > MOST_SEGMENTS || wanted.filter((each) => each === '**').length > 1)
    return false
  const segments = segmentsOf(path, isCased).slice(-MOST_SEGMENTS)
  return segments.some((_segment, at) => begins(segments.slice(at), wanted))
}
