/**
 * Where names of files, identifiers and numbers stand in what is still in the context.
 *
 * Each name is known by one run of letters and digits in it, and the texts are read once, run by run: the time that
 * takes hangs on the length of the texts and not on how many names are looked for.
 */
import type { Place } from './passages.js'
import { nameOf } from './works.js'

/** A name that is looked for. */
export interface WantedName {
  readonly kind: 'file' | 'identifier' | 'number'
  /** As every spelling of it is written. */
  readonly key: string
}

/**
 * How near a text comes to a name: the name itself, a part of it (a file's name without its folder or its ending, a name in a longer one), the same file with another ending, or a run of
 * letters that it has too.
 */
type Nearness = 'whole' | 'part' | 'stem' | 'run'

interface Standing {
  readonly nearness: Nearness
  readonly place: Place
  /** As it stands there. */
  readonly text: string
}

// Scripts without spaces put no border between a name and their own words.
const RUN = /[A-Za-z0-9_]+|(?:(?![A-Za-z0-9_])[\p{L}\p{N}])+/gu
const IN_PATH = /[\w.@+~/\\-]/u
const IN_ANY_PATH = /[\p{L}\p{N}_.@+~/\\-]/u
const ORDER: readonly Nearness[] = ['run', 'stem', 'part', 'whole']

/** The name of a path without its ending. */
export const stemOfFile = (path: string): string => {
  const name = nameOf(path)
  const dot = name.indexOf('.', 1)
  return dot < 1 ? name : name.slice(0, dot)
}

/** Whether a file's name without its ending is no word of the language too, as `config` and `checkpoint` are. */
export const isTellingStem = (stem: string): boolean => /[-_\d]|[a-z][A-Z]/u.test(stem)

const longestRun = (text: string): string =>
  (text.match(RUN) ?? []).reduce((longest, run) => (run.length > longest.length ? run : longest), '').toLowerCase()

const runOf = ({ kind, key }: WantedName): string => (kind === 'file' ? longestRun(stemOfFile(key)) : longestRun(key))

/** The path around a place of a text. */
function pathAround(text: string, from: number, to: number, inPath: RegExp): string {
  let [begin, end] = [from, to]
  while (begin > 0 && inPath.test(text.charAt(begin - 1)) && from - begin < 400) begin -= 1
  while (end < text.length && inPath.test(text.charAt(end)) && end - to < 200) end += 1
  return text
    .slice(begin, end)
    .replaceAll(/\\+/gu, '/')
    .replace(/^(?:\.{1,2}\/)+/u, '')
    .replace(/[./]+$/u, '')
}

const endsAlike = (path: string, end: string): boolean =>
  path === end || path.endsWith(end.startsWith('/') ? end : `/${end}`)

const withoutEnding = (path: string): string => path.slice(0, path.length - nameOf(path).length) + stemOfFile(path)

/** `v1.2.3` is 1.2.3. */
const isVersion = (text: string, at: number): boolean =>
  /\d/u.test(text.charAt(at)) && /(?<!\w)v$/u.test(text.slice(Math.max(0, at - 2), at))

export interface NameFinder {
  /** The nearest thing to a name; of several as near, the first. */
  find(name: WantedName): Standing | undefined
}

/**
 * @param isEnough whether an end of a path (`index.ts`) tells which file is meant
 */
export function findNames(
  wanted: readonly WantedName[],
  texts: readonly { readonly text: string; readonly place: Place }[],
  isEnough: (end: string) => boolean,
): NameFinder {
  const found = new Map<string, Standing>()
  const idOf = ({ kind, key }: WantedName): string => `${kind} ${key}`
  const byRun = new Map<string, WantedName[]>()
  for (const name of wanted) {
    const run = runOf(name)
    if (run === '') continue
    const known = byRun.get(run)
    if (known === undefined) byRun.set(run, [name])
    else known.push(name)
  }

  function nearnessOf(
    { kind, key }: WantedName,
    text: string,
    from: number,
    to: number,
  ): { nearness: Nearness; text: string } {
    if (kind === 'file') {
      const path = pathAround(text, from, to, /^[\0-\x7f]*$/u.test(key) ? IN_PATH : IN_ANY_PATH)
      if (endsAlike(path, key) || (endsAlike(key, path) && isEnough(path))) return { nearness: 'whole', text: path }
      const name = nameOf(path)
      const sameName = name === nameOf(key)
      // Another folder makes another file of it; the name alone is it, told less well.
      if (path.includes('/') && !endsAlike(key, path)) return { nearness: 'run', text: path }
      const sameStem = isTellingStem(name) && name.toLowerCase() === stemOfFile(key).toLowerCase()
      if (sameName || sameStem) return { nearness: 'part', text: path }
      return { nearness: endsAlike(withoutEnding(key), withoutEnding(path)) ? 'stem' : 'run', text: path }
    }
    const at = key.toLowerCase().indexOf(runOf({ kind, key }))
    const begin = from - at
    const there = text.slice(Math.max(0, begin), begin + key.length)
    const alone =
      (!/\w/u.test(text.charAt(begin - 1)) || isVersion(text, begin)) && !/\w/u.test(text.charAt(begin + key.length))
    if (there === key) return { nearness: alone ? 'whole' : 'part', text: there }
    return { nearness: there.toLowerCase() === key.toLowerCase() ? 'part' : 'run', text: text.slice(from, to) }
  }

  for (const { text, place } of texts) {
    for (const match of text.matchAll(RUN)) {
      const run = match[0].toLowerCase()
      const names = byRun.get(run)
      if (names === undefined) continue
      for (const name of names) {
        const before = found.get(idOf(name))
        if (before?.nearness === 'whole') continue
        const now = nearnessOf(name, text, match.index, match.index + match[0].length)
        if (before === undefined || ORDER.indexOf(now.nearness) > ORDER.indexOf(before.nearness))
          found.set(idOf(name), { ...now, place })
      }
      // What was found whole need not be looked for again.
      const open = names.filter((name) => found.get(idOf(name))?.nearness !== 'whole')
      if (open.length < names.length) {
        if (open.length === 0) byRun.delete(run)
        else byRun.set(run, open)
      }
    }
  }
  return { find: (name) => found.get(idOf(name)) }
}
