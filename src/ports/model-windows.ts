/** The windows of models that this process knows: those that everybody knows, and what its program made known. */
import { DEFAULT_WINDOW_TOKENS, KNOWN_WINDOWS, windowIn, type FindWindow } from '../domain/values/model-windows.js'

const windows = new Map(KNOWN_WINDOWS)

/**
 * Makes a model's window known, or corrects one: for this name, and for those that go on from it (see `modelWindow`).
 * @param model its name, in letters of any case; with a vendor in front (`acme/large`) for the model of that vendor
 * alone
 * @param windowTokens what its window takes, in tokens: a whole number above 0
 */
export function registerModelWindow(model: string, windowTokens: number): void {
  if (!Number.isSafeInteger(windowTokens) || windowTokens < 1)
    throw new RangeError(
      `the window of model "${model}" must be a whole number of tokens above 0, and is ${String(windowTokens)}`,
    )
  windows.set(model.toLowerCase(), windowTokens)
}

/** Whether a model's window is known by its name. */
export const isKnownModel = (model: string): boolean => windowIn(windows, model) !== undefined

/**
 * The window of a model in tokens: by its name, or the longest known name that it starts with, with its vendor
 * (`acme/large`) and else without; else 128,000.
 */
export const modelWindow: FindWindow = (model) =>
  (model === undefined ? undefined : windowIn(windows, model)) ?? DEFAULT_WINDOW_TOKENS
