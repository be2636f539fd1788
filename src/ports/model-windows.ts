/** The context windows of models: the built-in ones, and those that the host program registered. */
import { DEFAULT_WINDOW_TOKENS, KNOWN_WINDOWS, windowIn, type FindWindow } from '../domain/values/model-windows.js'

const windows = new Map(KNOWN_WINDOWS)

/**
 * Registers or corrects a model's window, for this name and for names that start with it (see `modelWindow`).
 * @param model its name, in any case; with a vendor prefix (`acme/large`) for the model of that vendor only
 * @param windowTokens size of the window in tokens: a whole number above 0
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
