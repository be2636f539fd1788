/**
 * What somebody may ask for again by its name: files and names of code, versions, hashes, flags and the numbers of
 * issues and orders, each with a key that is the same for every spelling. It finds more than `identifiers.ts`, which
 * recorded extracts were made by and which stays as it is.
 *
 * Not found: a name that is one plain word, or two words with a dash; one with dots (`a.b.c`); paths with backslashes;
 * addresses of the web.
 */
import { collectIdentifiers } from './identifiers.js'

interface Name {
  /** As every spelling of it is written. */
  readonly key: string
  /** As it stands there. */
  readonly text: string
}

export interface Names {
  readonly files: readonly Name[]
  readonly identifiers: readonly Name[]
}

// Files that are known by their name though it has no extension, or one that no other file has.
const FILE =
  /(?<![\p{L}\p{N}_.@:/-])(?:(?:~|\.{1,2})?\/)?(?:[\p{L}\p{N}_.@+-]{1,80}\/){0,12}(?:(?:Make|Docker|Container|Jenkins|Rake|Gem|Proc|Vagrant|Brew|Just|Caddy|Pod|Fast|Tilt)file(?:\.[A-Za-z0-9_-]{1,40})?|go\.(?:mod|sum|work)|\.[a-z]{2,20}(?:ignore|rc)|\.editorconfig|\.git(?:attributes|modules))(?![\p{L}\p{N}_/])/gu
// HTTPServer, parseJSON; foo::bar; #W1234567.
const IDENTIFIER =
  /(?<![\p{L}\p{N}_:])[A-Za-z_]\w{0,60}(?:::~?[A-Za-z_]\w{0,60}){1,8}(?![\p{L}\p{N}_:])|(?<![\p{L}\p{N}_])(?:[A-Z]{3,20}[a-z]{2}[A-Za-z0-9]{0,60}|[A-Za-z][A-Za-z0-9]{0,60}[a-z0-9][A-Z]{2}[A-Za-z0-9]{0,60}|#[A-Z]{1,4}\d{3,12}|[A-Z]{1,3}\d{5,12})(?![\p{L}\p{N}_])/gu
// rate-limit-worker, locomo-26.
const DASHED = /(?<![\p{L}\p{N}_/.@:#$%&=?-])[a-z][a-z0-9]+(?:-[a-z0-9]+){1,8}(?![\p{L}\p{N}_/@:-]|\.[\p{L}\p{N}])/gu
// Up-to-date and ten-year-old are words of a language; a name has none of these in it.
const LANGUAGE =
  /(?:^|-)(?:a|an|and|as|at|be|by|do|does|for|from|go|had|has|if|in|into|is|it|its|know|like|me|my|not|of|off|on|one|onto|or|out|over|so|than|that|the|them|then|this|to|too|under|up|us|use|vs|was|well|what|when|will|with|you|your|year|years|old|day|days|week|month|long|term|high|low|level|more|most|non|semi|self|pre|post|how|all|ever|down|back|right|end|side|free|based|driven|only|made|yet|but)(?=-|$)/u

// The patterns ask for a border before a name. Scripts without spaces have none: 使用parseConfig函数 names parseConfig all
// the same.
const apart = (text: string): string =>
  text.replaceAll(
    /(?<=[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}])(?=[A-Za-z0-9_#/])|(?<=[A-Za-z0-9_])(?=[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}])/gu,
    ' ',
  )

// A diff writes a/ and b/ before a path, and means one file.
const undiffed = (text: string): string =>
  text.replaceAll(/^(?:--- |\+{3} |diff --git ).*$/gmu, (line) => line.replaceAll(/(?<= )[ab]\//gu, ''))

const pathOf = (file: string): string => file.replace(/^(?:\.{1,2}\/)+/u, '').replace(/[./]+$/u, '')
// An abbreviation, and no file of a program in C.
const isAbbreviation = (file: string): boolean => /^(?:\p{L}\.){2,}\p{L}$/u.test(file)
const keyOf = (identifier: string): string => identifier.replace(/^v(?=\d+\.)/u, '').replace(/^#(?=[A-Z])/u, '')

// As the collector does: the bound keeps one huge text from costing more than a few milliseconds, and what an ellipsis
// follows was cut off there.
const MAX_CHARACTERS = 40_000
const foundIn = (text: string, pattern: RegExp): string[] =>
  Array.from(text.matchAll(pattern)).flatMap((match) =>
    text.charAt(match.index + match[0].length) === '…' ? [] : [match[0]],
  )

const distinct = (names: readonly Name[]): Name[] =>
  [...new Map(names.toReversed().map((name) => [name.key, name])).values()].toReversed()

const readable = (given: string): string => {
  const text = apart(given)
  return text.length <= MAX_CHARACTERS
    ? text
    : `${text.slice(0, MAX_CHARACTERS / 2)}\n${text.slice(-MAX_CHARACTERS / 2)}`
}

/** The names in a text, each once; of a text above 40,000 characters those of its two ends. */
export function namesIn(given: string): Names {
  const text = undiffed(readable(given))
  const { files, identifiers } = collectIdentifiers(text)
  return {
    files: distinct(
      [...files.filter((file) => !isAbbreviation(file)), ...foundIn(text, FILE)].map((file) => ({
        key: pathOf(file),
        text: file,
      })),
    ),
    identifiers: distinct(
      [...identifiers, ...foundIn(text, IDENTIFIER)].map((identifier) => ({
        key: keyOf(identifier),
        text: identifier,
      })),
    ),
  }
}

/**
 * Names with dashes in what somebody says: of three words or more, or with a number. Code is full of such that nobody
 * will ask for, and is not looked at.
 */
export function dashedNamesIn(given: string): string[] {
  return [
    ...new Set(
      foundIn(readable(given), DASHED).filter(
        (found) => !LANGUAGE.test(found) && (/\d/u.test(found) || found.split('-').length > 2),
      ),
    ),
  ]
}
