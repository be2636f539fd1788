/** Context windows of known models, by name. Programs add others in `ports/model-windows.ts`. */

/** Window of an unknown model, in tokens. */
export const DEFAULT_WINDOW_TOKENS = 128_000

/** The window of a model in tokens; the default if the model is unknown or undefined. */
export type FindWindow = (model: string | undefined) => number

// Windows by model name, in lower case. A longer name that continues one of these after a dash, a dot or a colon has
// the same window.
export const KNOWN_WINDOWS: ReadonlyMap<string, number> = new Map([
  ['gpt-3.5-turbo', 16_385],
  ['gpt-4', 8_192],
  ['gpt-4-32k', 32_768],
  ['gpt-4-turbo', 128_000],
  ['gpt-4o', 128_000],
  ['gpt-4.1', 1_047_576],
  ['gpt-5', 400_000],
  ['o1', 200_000],
  ['o1-mini', 128_000],
  ['o1-preview', 128_000],
  ['o3', 200_000],
  ['o4-mini', 200_000],
  ['claude-3', 200_000],
  ['claude-sonnet-4', 200_000],
  ['claude-opus-4', 200_000],
  ['claude-haiku-4', 200_000],
  ['gemini-1.5-pro', 2_097_152],
  ['gemini-2', 1_048_576],
  ['mistral-large', 128_000],
  ['llama-3.1', 128_000],
  ['deepseek', 128_000],
  ['qwen2.5', 131_072],
])

/** The window of the longest name that `name` equals or continues after a dash, a dot or a colon. */
function longestIn(windows: ReadonlyMap<string, number>, name: string): number | undefined {
  const known = [...windows].filter(
    ([key]) => name === key || ['-', '.', ':'].some((mark) => name.startsWith(`${key}${mark}`)),
  )
  return known.toSorted(([a], [b]) => b.length - a.length)[0]?.[1]
}

/** Looks up the window of a model: with its vendor (`acme/large`), then without. */
export function windowIn(windows: ReadonlyMap<string, number>, model: string): number | undefined {
  const name = model.toLowerCase()
  return longestIn(windows, name) ?? longestIn(windows, name.slice(name.lastIndexOf('/') + 1))
}

/** The window of a known model; otherwise 128,000. */
export const knownWindow: FindWindow = (model) =>
  (model === undefined ? undefined : windowIn(KNOWN_WINDOWS, model)) ?? DEFAULT_WINDOW_TOKENS
