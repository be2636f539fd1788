/** Collects file names and identifiers by code, because a model omits some and invents others. */

export interface Identifiers {
  /** Paths and file names, in the order in which they first occur. */
  readonly files: readonly string[]
  /** Names of code, flags, versions, hashes and issue numbers. */
  readonly identifiers: readonly string[]
}

// The bound keeps one huge text from costing more than a few milliseconds.
const MAX_CHARACTERS = 40_000
const EXTENSIONS =
  'tsx?|jsx?|mjs|cjs|json[lc5]?|ya?ml|toml|md|mdx|txt|py|ipynb|go|rs|rb|java|kt|swift|c|h|cc|cpp|hpp|cs|php|sh|bash|zsh|fish|ps1|sql|html?|css|scss|less|vue|svelte|lock|env|cfg|conf|ini|xml|csv|tsv|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|webp|proto|graphql|gradle|tf|nix|log|diff|patch|ex|exs|erl|hs|lua|r|jl|dart|zig|omp\\.json'
// A path has a slash and a name, or a name has a known extension. A web address is neither.
const FILE = new RegExp(
  String.raw`(?<![\p{L}\p{N}_/.@:-])(?:(?:~|\.{1,2})?\/)?(?:[\p{L}\p{N}_.@+-]{1,80}\/){0,12}[\p{L}\p{N}_.@+-]{0,80}\.(?:${EXTENSIONS})(?![\p{L}\p{N}_])|(?<![\p{L}\p{N}_/.@:-])(?:(?:~|\.{1,2})?\/)?(?:[A-Za-z0-9_.@+-]{2,60}\/){2,12}[A-Za-z0-9_.@+-]{1,80}`,
  'giu',
)
const IDENTIFIER =
  /(?<![\p{L}\p{N}_])(?:[a-z][a-z0-9]*(?:[A-Z][a-z0-9]+)+[A-Z]?|(?:[A-Z][a-z0-9]+){2,}|[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+|v?\d+\.\d+\.\d+(?:-[\w.]+)?|#\d{1,7}|[A-Z]{2,10}-\d{1,6}|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}|--[a-z][a-z0-9-]{2,})(?![\p{L}\p{N}_])/gu

// Most sentences have none of these inside a word, and so no file or identifier; they skip the patterns above.
const SUSPECT = /\S[./_]\S|[a-z][A-Z]|#\d|[a-f]\d|\d[a-f]|--[a-z]|[A-Z]-\d|\d\.\d/u

// A name before an ellipsis was cut off.
const unique = (text: string, pattern: RegExp): string[] => [
  ...new Set(
    Array.from(text.matchAll(pattern)).flatMap((match) =>
      text.charAt(match.index + match[0].length) === '…' ? [] : [match[0]],
    ),
  ),
]

/** The distinct file names and identifiers of a text, in order. Above 40,000 characters, only both ends are read. */
export function collectIdentifiers(text: string): Identifiers {
  if (!SUSPECT.test(text)) return { files: [], identifiers: [] }
  const read =
    text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS / 2)}\n${text.slice(-MAX_CHARACTERS / 2)}`
  const files = unique(read, FILE).filter((file) => /[\p{L}\p{N}]/u.test(file))
  const inFiles = new Set(files)
  const identifiers = unique(read, IDENTIFIER).filter((identifier) => !inFiles.has(identifier))
  return { files, identifiers }
}

/** Whether a text names a file or an identifier. */
export function hasIdentifier(text: string): boolean {
  return SUSPECT.test(text) && (text.search(IDENTIFIER) >= 0 || text.search(FILE) >= 0)
}
