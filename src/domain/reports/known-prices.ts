/**
 * List prices of known models in USD per million tokens, as their providers published them
 * (developers.openai.com/api/docs/pricing, platform.claude.com/docs/en/about-claude/pricing,
 * ai.google.dev/gemini-api/docs/pricing). Only `gpt-5-mini`, `gpt-5-nano`, Claude 3.5 Haiku, Claude 4 and Claude Opus
 * 4.5 to 5 were compared with copies of these pages; the others come from secondary sources. They are the prices of direct requests without
 * discounts for batches, within the model's default window. The table has no model with a price that depends on the length
 * of the request.
 */

/** The day on which the table was made. A provider can have changed a price before or after it. */
const AS_OF = '2026-11-29'

/**
 * The price of prompt tokens that are read from the provider's cache, and of those that are written to it, as parts of the
 * price of a prompt token. Claude's cache is written for five minutes. The parts of Claude were compared with its page.
 */
const CACHES: readonly (readonly [models: RegExp, read: number, written?: number])[] = [
  [/^gpt-5/u, 0.1],
  [/^gpt-4\.1/u, 0.25],
  [/^gpt-4o-2024-05-13$/u, 1],
  [/^gpt-4o/u, 0.5],
  [/^o3-mini$/u, 0.5],
  [/^o[34]/u, 0.25],
  [/^claude-/u, 0.1, 1.25],
  [/^gemini-2\.5-/u, 0.1],
]

const LIST: readonly (readonly [model: string, promptPerMillion: number, completionPerMillion: number])[] = [
  ['gpt-5.2', 1.75, 14],
  ['gpt-5.1', 1.25, 10],
  ['gpt-5', 1.25, 10],
  ['gpt-5-codex', 1.25, 10],
  ['gpt-5-mini', 0.25, 2],
  ['gpt-5-nano', 0.05, 0.4],
  ['gpt-4.1', 2, 8],
  ['gpt-4.1-mini', 0.4, 1.6],
  ['gpt-4.1-nano', 0.1, 0.4],
  ['gpt-4o', 2.5, 10],
  ['gpt-4o-2024-05-13', 5, 15],
  ['gpt-4o-mini', 0.15, 0.6],
  ['o3', 2, 8],
  ['o3-mini', 1.1, 4.4],
  ['o4-mini', 1.1, 4.4],
  ['claude-opus-5', 5, 25],
  ['claude-opus-4-8', 5, 25],
  ['claude-opus-4-7', 5, 25],
  ['claude-opus-4-6', 5, 25],
  ['claude-opus-4-5', 5, 25],
  ['claude-opus-4-1', 15, 75],
  ['claude-opus-4', 15, 75],
  ['claude-sonnet-4-6', 3, 15],
  ['claude-sonnet-4-5', 3, 15],
  ['claude-sonnet-4', 3, 15],
  ['claude-haiku-4-5', 1, 5],
  ['claude-3-5-haiku', 0.8, 4],
  ['gemini-2.5-flash', 0.3, 2.5],
  ['gemini-2.5-flash-lite', 0.1, 0.4],
]

/** The prices of cached prompt tokens of a model. */
function cachePricesOf(
  model: string,
  promptPerMillion: number,
): { readonly cacheReadPerMillion: number; readonly cacheWritePerMillion?: number } {
  const [, read = 1, written] = CACHES.find(([models]) => models.test(model)) ?? []
  return {
    cacheReadPerMillion: promptPerMillion * read,
    ...(written === undefined ? {} : { cacheWritePerMillion: promptPerMillion * written }),
  }
}

/** Prices by model name, each with the day of the table. */
export const KNOWN_PRICES = Object.fromEntries(
  LIST.map(([model, promptPerMillion, completionPerMillion]) => [
    model,
    {
      promptPerMillion,
      completionPerMillion,
      ...cachePricesOf(model, promptPerMillion),
      currency: 'USD',
      asOf: AS_OF,
    },
  ]),
)
