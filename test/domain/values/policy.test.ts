/** Sizes, windows and the two limits that follow from them. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { hardLimit, parsePolicySettings, resolvePolicy, softLimit } from '../../../src/domain/values/policy.js'
import {
  policyForRow,
  policySchema,
  policySchemaOf,
  policySettings,
  policySettingsSchema,
  type Policy,
  type PolicySettings,
} from '../../../src/domain/values/policy-settings.js'

function policy(settings: PolicySettings, summarizerWindow?: number): Policy {
  const resolved = resolvePolicy(settings, summarizerWindow)
  if (E.isLeft(resolved)) throw new Error(resolved.left.detail)
  return resolved.right
}

describe('the limits', () => {
  it.each([
    [{ modelMaxTokens: 200_000, contextBudget: 0.8 }, 160_000, 200_000],
    [
      { modelMaxTokens: 128_000, systemReserve: 2_000, outputReserve: 4_000, safetyBuffer: 5_000, contextBudget: 0.8 },
      93_600,
      117_000,
    ],
    [{ modelMaxTokens: 1_000, contextBudget: 0.7 }, 700, 1_000],
    [{ modelMaxTokens: 1_001, contextBudget: 0.5 }, 500, 1_001],
    [{ modelMaxTokens: 8_000, contextBudget: 1 }, 8_000, 8_000],
  ] as const)('of %j are %i and %i', (settings, soft, hard) => {
    expect([softLimit(policy(settings)), hardLimit(policy(settings))]).toEqual([soft, hard])
  })

  it('have no reserves and a budget of 0.8 by default', () => {
    expect(policy({})).toMatchObject({
      modelMaxTokens: 128_000,
      contextBudget: 0.8,
      systemReserve: 0,
      outputReserve: 0,
      safetyBuffer: 0,
    })
  })

  it('leave no window for reserves that take it all, and say by which field', () => {
    expect(resolvePolicy({ modelMaxTokens: 4_000, outputReserve: 3_900 })).toMatchObject(
      E.left({ kind: 'BadPolicy', field: 'modelMaxTokens', detail: expect.stringContaining('100 tokens') }),
    )
    expect(E.isRight(resolvePolicy({ modelMaxTokens: 256, outputReserve: 128 }))).toBe(true)
  })
})

describe('settings', () => {
  it('have a number each, whatever was set', () => {
    expect(policySchema.safeParse(policy({})).success).toBe(true)
    expect(policySchema.safeParse(policy({ modelMaxTokens: 256 }, 100)).success).toBe(true)
  })

  it('give a chunk at least four summaries and at most what the summarizer takes', () => {
    const small = policy({ modelMaxTokens: 8_000 }, 10_000)
    expect(small.chunkMinTokens).toBeGreaterThanOrEqual(4 * small.maxSummaryTokens)
    expect(small.chunkMaxTokens).toBeLessThan(10_000)
    expect(policy({ chunkMinTokens: 0 }).chunkMinTokens).toBe(0)
  })

  it.each([
    [{ keepRecent: 0 }, 'keepRecent', 'must be above 0'],
    [{ keepRecent: 1.5 }, 'keepRecent', 'must be a whole number'],
    [{ keepRecent: '5' }, 'keepRecent', 'must be a number'],
    [{ contextBudget: 1.5 }, 'contextBudget', 'must be 1 or less'],
    [{ contextBudget: Number.NaN }, 'contextBudget', 'must be a number'],
    [{ modelMaxTokens: 12 }, 'modelMaxTokens', 'must be 256 or more'],
    [{ view: 'poem' }, 'view', 'must be one of working-state, clip-archive, session-summary'],
    [{ keepRecents: 5 }, 'keepRecents', expect.stringContaining('did you mean keepRecent?')],
    [{ model: '' }, 'model', 'is empty'],
    [{ model: 'a\0b' }, 'model', 'has a control character'],
    [{ model: 'lone \ud800' }, 'model', 'has a lone surrogate'],
    [{ model: 'x'.repeat(513) }, 'model', 'is longer than 512 bytes'],
    ['text', 'policy', 'must be an object'],
  ])('%j are refused by the name of the field, in plain words', (settings, field, detail) => {
    expect(parsePolicySettings(settings)).toEqual(E.left({ kind: 'BadPolicy', field, detail }))
  })

  it('that were recorded before are read as they are', () => {
    expect(policySettingsSchema.parse({ model: 'a\u001bb' })).toEqual({ model: 'a\u001bb' })
  })
})

/** Today's settings, and one that a later version adds. */
const later = {
  ...policySettings,
  patience: { kind: 'fixed', value: z.number(), byDefault: 5, before: 0, description: 'Seconds' },
} as const
const laterPolicy = policySchemaOf(later)

describe('a setting that a later version adds', () => {
  it('has in the policy of an older event the value from before, and the default in a new one', () => {
    expect(laterPolicy.parse(policy({}))).toEqual({ ...policy({}), patience: 0 })
    expect(laterPolicy.parse({ ...policy({}), patience: 5 })).toEqual({ ...policy({}), patience: 5 })
  })

  it('is an error for an older version, which must not read the policy without it', () => {
    const read = policySchema.safeParse({ ...policy({}), patience: 5 })
    expect(read.error?.issues.map(({ message }) => message)).toEqual([
      'has settings that only a newer version knows: patience',
    ])
  })

  it('leaves the rows of older events as they are', () => {
    const row = (recorded: unknown): unknown => policyForRow(laterPolicy.parse(recorded), later)
    expect(row(policy({}))).toEqual(policyForRow(policy({})))
    expect(row({ ...policy({}), patience: 5 })).toEqual({ ...policyForRow(policy({})), patience: 5 })
  })
})
