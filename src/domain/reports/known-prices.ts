/**
 * List prices of known models in USD per million tokens, as their providers published them
 * (developers.openai.com/api/docs/pricing, platform.claude.com/docs/en/about-claude/pricing,
 * ai.google.dev/gemini-api/docs/pricing). Only `gpt-5-mini`, `gpt-5-nano`, Claude 3.5 Haiku and Claude 4 were compared
 * with copies of these pages; the others come from secondary sources. They are the prices of direct requests without
 * discounts, such as batches or cached tokens, and within the model's default window. The table has no model with a price
 * that depends on the length of the request.
 */

/** The day on which the table was made. A provider can have changed a price before or after it. */
const AS_OF = '2026-11-29'

const LIST: readonly (readonly [model: string, promptPerMillion: number, completionPerMillion: number])[] = [
  ['gpt-5.2', 1.75, 14],
  ['gpt-5.1', 1.25, 10],
  ['gpt-5', 1.25, 10],
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

/** Prices by model name, each with the day of the table. */
export const KNOWN_PRICES = Object.fromEntries(
  LIST.map(([model, promptPerMillion, completionPerMillion]) => [
    model,
    { promptPerMillion, completionPerMillion, currency: 'USD', asOf: AS_OF },
  ]),
)
