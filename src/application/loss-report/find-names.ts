/**
 * Finds names of files, identifiers and numbers in the remaining context.
 *
 * Each name is indexed by one run of letters and digits in it, and each text is read once, run by run. The time depends
 * on the length of the texts, not on the number of names.
 */
import type { PassageSource } from './passages.js'
import { nameOf } from '../../domain/tools/call-query.js'

/** A name to find. */
export interface WantedName {
  readonly kind: 'file' | 'identifier' | 'number'
  /** The canonical spelling. */
  readonly key: string
}

/**
 * How closely a text matches a name: the name itself (`whole`); an identifier inside a longer one or in other letter
 * case (`part`); a file name without its extension or with another (`stem`); only a common run of letters (`run`).
 */
type Nearness = 'whole' | 'part' | 'stem' | 'run'

interface NameMatch {
  readonly nearness: Nearness
  readonly source: PassageSource
  /** As written in the text. */
  readonly text: string
}

// Scripts without spaces have no boundary between a name and their own words.
const RUN = /[A-Za-z0-9_]+|(?:(?![A-Za-z0-9_])[\p{L}\p{N}])+/gu
const IN_PATH = /[\w.@+~/\\-]/u
const IN_ANY_PATH = /[\p{L}\p{N}_.@+~/\\-]/u
const ORDER: readonly Nearness[] = ['run', 'stem', 'part', 'whole']

/** A file name without its extension. */
export const stemOfFile = (path: string): string => {
  const name = nameOf(path)
  const dot = name.indexOf('.', 1)
  return dot < 1 ? name : name.slice(0, dot)
}

/** Whether a file name without its extension is not also an ordinary word, such as `config` and `checkpoint`. */
export const isTellingStem = (stem: string): boolean => /[-_\d]|[a-z][A-Z]/u.test(stem)

const longestRun = (text: string): string =>
  (text.match(RUN) ?? []).reduce((longest, run) => (run.length > longest.length ? run : longest), '').toLowerCase()

const runOf = ({ kind, key }: WantedName): string => (kind === 'file' ? longestRun(stemOfFile(key)) : longestRun(key))

/** The path around a match in a text. */
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

/** Names that occur in many folders: without a folder they identify no file. */
const isGeneric = (path: string): boolean =>
  /^(?:index|main|mod|lib|types?|utils?|setup|config|SKILL|README|CHANGELOG|LICENSE|AGENTS|CLAUDE|__init__|package|Cargo|tsconfig)\.\w{1,5}$/iu.test(
    path,
  )

/** `v1.2.3` is 1.2.3. */
const isVersion = (text: string, at: number): boolean =>
  /\d/u.test(text.charAt(at)) && /(?<!\w)v$/u.test(text.slice(Math.max(0, at - 2), at))

export interface NameFinder {
  /** The closest match of a name; the first of equally close ones. */
  find(name: WantedName): NameMatch | undefined
}

/** @param isEnough whether the end of a path (`index.ts`) identifies a file */
export function findNames(
  wanted: readonly WantedName[],
  texts: readonly { readonly text: string; readonly source: PassageSource }[],
  isEnough: (end: string) => boolean,
): NameFinder {
  const found = new Map<string, NameMatch>()
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
      if (endsAlike(path, key) || (endsAlike(key, path) && isEnough(path) && !isGeneric(path)))
        return { nearness: 'whole', text: path }
      // A different folder means a different file. A file name that several files have identifies none of them.
      if (path.includes('/') && !endsAlike(key, path)) return { nearness: 'run', text: path }
      const isCode = text.charAt(to) === '(' || /^__\w+__$/u.test(nameOf(path))
      if (isCode) return { nearness: 'run', text: path }
      return { nearness: endsAlike(withoutEnding(key), withoutEnding(path)) ? 'stem' : 'run', text: path }
    }
    const at = key.toLowerCase().indexOf(runOf({ kind, key }))
    const begin = from - at
    const written = text.slice(Math.max(0, begin), begin + key.length)
    // A name with dashes does not end at a dash inside a longer name.
    const inName = key.includes('-') ? /[\w-]/u : /\w/u
    const alone =
      (!inName.test(text.charAt(begin - 1)) || isVersion(text, begin)) && !inName.test(text.charAt(begin + key.length))
    if (written === key) return { nearness: alone ? 'whole' : 'part', text: written }
    return { nearness: written.toLowerCase() === key.toLowerCase() ? 'part' : 'run', text: text.slice(from, to) }
  }

  for (const { text, source } of texts) {
    for (const match of text.matchAll(RUN)) {
      const run = match[0].toLowerCase()
      const names = byRun.get(run)
      if (names === undefined) continue
      for (const name of names) {
        const before = found.get(idOf(name))
        if (before?.nearness === 'whole') continue
        const now = nearnessOf(name, text, match.index, match.index + match[0].length)
        if (before === undefined || ORDER.indexOf(now.nearness) > ORDER.indexOf(before.nearness))
          found.set(idOf(name), { ...now, source })
      }
      // Names that have a whole match need no further search.
      const open = names.filter((name) => found.get(idOf(name))?.nearness !== 'whole')
      if (open.length < names.length) {
        if (open.length === 0) byRun.delete(run)
        else byRun.set(run, open)
      }
    }
  }
  return { find: (name) => found.get(idOf(name)) }
}
