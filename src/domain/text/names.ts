/**
 * Finds the names that may be needed again: files, names of code, versions, hashes, flags, and issue and order numbers.
 * Each name has a key that is equal for every spelling. The collector in `identifiers.ts` finds fewer names and must
 * not change, because recorded extracts depend on it.
 *
 * Not found: a name that is one plain word or two words with a dash; a name with dots (`a.b.c`); paths with
 * backslashes; web addresses.
 */
import { collectIdentifiers } from './identifiers.js'

interface Name {
  /** Equal for every spelling. */
  readonly key: string
  /** As written in the text. */
  readonly text: string
}

export interface Names {
  readonly files: readonly Name[]
  readonly identifiers: readonly Name[]
}

// Files known by their name, without an extension or with a unique one.
const FILE =
  /(?<![\p{L}\p{N}_.@:/-])(?:(?:~|\.{1,2})?\/)?(?:[\p{L}\p{N}_.@+-]{1,80}\/){0,12}(?:(?:Make|Docker|Container|Jenkins|Rake|Gem|Proc|Vagrant|Brew|Just|Caddy|Pod|Fast|Tilt)file(?:\.[A-Za-z0-9_-]{1,40})?|go\.(?:mod|sum|work)|\.[a-z]{2,20}(?:ignore|rc)|\.editorconfig|\.git(?:attributes|modules))(?![\p{L}\p{N}_/])/gu
// HTTPServer, parseJSON; foo::bar; #W1234567.
const IDENTIFIER =
  /(?<![\p{L}\p{N}_:])[A-Za-z_]\w{0,60}(?:::~?[A-Za-z_]\w{0,60}){1,8}(?![\p{L}\p{N}_:])|(?<![\p{L}\p{N}_])(?:[A-Z]{3,20}[a-z]{2}[A-Za-z0-9]{0,60}|[A-Za-z][A-Za-z0-9]{0,60}[a-z0-9][A-Z]{2}[A-Za-z0-9]{0,60}|#[A-Z]{1,4}\d{3,12}|[A-Z]{1,3}\d{5,12})(?![\p{L}\p{N}_])/gu
// rate-limit-worker, locomo-26.
const DASHED = /(?<![\p{L}\p{N}_/.@:#$%&=?-])[a-z][a-z0-9]+(?:-[a-z0-9]+){1,8}(?![\p{L}\p{N}_/@:-]|\.[\p{L}\p{N}])/gu
// Up-to-date and ten-year-old are ordinary words. A name contains none of these words.
const LANGUAGE =
  /(?:^|-)(?:a|an|and|as|at|be|by|do|does|for|from|go|had|has|if|in|into|is|it|its|know|like|me|my|not|of|off|on|one|onto|or|out|over|so|than|that|the|them|then|this|to|too|under|up|us|use|vs|was|well|what|when|will|with|you|your|year|years|old|day|days|week|month|long|term|high|low|level|more|most|non|semi|self|pre|post|how|all|ever|down|back|right|end|side|free|based|driven|only|made|yet|but)(?=-|$)/u

// The patterns need a boundary before a name. Scripts without spaces have none, so one is inserted: 使用parseConfig函数
// names parseConfig.
const apart = (text: string): string =>
  text.replaceAll(
    /(?<=[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}])(?=[A-Za-z0-9_#/])|(?<=[A-Za-z0-9_])(?=[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}])/gu,
    ' ',
  )

// A diff writes a/ and b/ before the path of the same file.
const undiffed = (text: string): string =>
  text.replaceAll(/^(?:--- |\+{3} |diff --git ).*$/gmu, (line) => line.replaceAll(/(?<= )[ab]\//gu, ''))

const pathOf = (file: string): string => file.replace(/^(?:\.{1,2}\/)+/u, '').replace(/[./]+$/u, '')
// An abbreviation, not a C source file.
const isAbbreviation = (file: string): boolean => /^(?:\p{L}\.){2,}\p{L}$/u.test(file)
const keyOf = (identifier: string): string => identifier.replace(/^v(?=\d+\.)/u, '').replace(/^#(?=[A-Z])/u, '')

// As in the collector: the limit keeps the time for a huge text to a few milliseconds, and a name before an ellipsis
// was cut off.
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

/** The distinct names in a text. Only both ends of a text above 40,000 characters are read. */
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
 * Names with dashes in spoken text: those of three or more words, or with a number. Code is skipped, since it is full
 * of such names that never matter again.
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
