/** The window of a model: built in or registered. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { resolvePolicy } from '../../src/domain/values/policy.js'
import type { Policy, PolicySettings } from '../../src/domain/values/policy-settings.js'
import { modelWindow, registerModelWindow } from '../../src/ports/model-windows.js'

describe('the window of a model', () => {
  it.each([
    ['gpt-4', 8_192],
    ['gpt-4-32k', 32_768],
    ['gpt-4-0613', 8_192],
    ['gpt-4o-mini', 128_000],
    ['openai/gpt-4o', 128_000],
    ['GPT-4.1-mini', 1_047_576],
    ['o1', 200_000],
    ['o1-mini-2024-09-12', 128_000],
    ['openai/o1-preview', 128_000],
    ['llama-3.1:70b', 128_000],
    ['claude-3-5-sonnet', 200_000],
    ['a-model-of-nobody', 128_000],
    ['gpt-45', 128_000],
    [undefined, 128_000],
  ])('%s takes %i tokens', (model, tokens) => {
    expect(modelWindow(model)).toBe(tokens)
  })

  it('can be registered, and is used if no number is set', () => {
    registerModelWindow('harbour-1', 12_345)
    expect(modelWindow('harbour-1')).toBe(12_345)
    const windowTokens = (settings: PolicySettings): unknown =>
      E.map((policy: Policy) => policy.modelMaxTokens)(resolvePolicy(settings, undefined, modelWindow))
    expect(windowTokens({ model: 'harbour-1' })).toEqual(E.right(12_345))
    expect(windowTokens({ model: 'harbour-1', modelMaxTokens: 5_000 })).toEqual(E.right(5_000))
  })

  it.each([
    'Acme-Large',
    'acme-large',
    'ACME-Large-2024',
    'acme-large:70b',
    'vendor/Acme-Large',
    'vendor/acme-large.1',
  ])('is known whatever the case of the letters: %s', (model) => {
    registerModelWindow('Acme-Large', 8_000)
    expect(modelWindow(model)).toBe(8_000)
  })

  it('applies to one vendor only if the vendor was given', () => {
    registerModelWindow('Quay/Tug', 16_000)
    expect([modelWindow('quay/tug-2'), modelWindow('tug-2'), modelWindow('other/tug')]).toEqual([
      16_000, 128_000, 128_000,
    ])
  })

  it.each([NaN, -5, 0, 0.5, 8_000.5, Infinity])('of %d tokens is rejected, and nothing is registered', (tokens) => {
    expect(() => {
      registerModelWindow('Wreck', tokens)
    }).toThrow(RangeError)
    expect(() => {
      registerModelWindow('Wreck', tokens)
    }).toThrow(`"Wreck" must be a whole number of tokens above 0, and is ${String(tokens)}`)
    expect(modelWindow('wreck')).toBe(128_000)
  })
})
