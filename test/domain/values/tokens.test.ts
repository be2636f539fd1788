/** What texts and messages cost. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { IMAGE_TOKENS } from '../../../src/domain/values/media.js'
import { builtInEstimators, contentTokens, defaultEstimator, messageTokens } from '../../../src/domain/values/tokens.js'
import { texts } from '../../support/arbitraries.js'
import { runsOf } from '../../support/length.js'

const cost = (text: string): number => defaultEstimator.text(text)

describe('the estimate of a text', () => {
  it.each([
    ['', 0],
    ['a', 1],
    ['abcd', 1],
    ['abcde', 2],
    ['déjà vu', 2],
    ['决定', 2],
    ['决定 abcd', 4],
    ['👩', 1],
    ['ひらがな', 4],
    ['한국어', 3],
    ['\ud83d', 1],
  ])('%j is %i tokens', (text, tokens) => {
    expect(cost(text)).toBe(tokens)
  })

  // The rule as it was first written. Recorded numbers were computed by it.
  const ONE_A_CODE_POINT =
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Extended_Pictographic}\u3000-\u303f\uff00-\uffef]/gu
  const byRule = (text: string): number => {
    const points = /[\u00a9-\uffff]/u.test(text) ? (text.match(ONE_A_CODE_POINT) ?? []) : []
    return points.length + Math.ceil((text.length - points.join('').length) / 4)
  }

  it('is the same for every text as by the rule under its name', () => {
    const letters = fc.constantFrom(
      'a',
      '\n',
      'é',
      '©',
      '®',
      '한',
      '决',
      'ー',
      'ｶ',
      '、',
      '😀',
      '👩',
      '𠀋',
      '𝒳',
      '\ud83d',
      '\ude00',
    )
    const mixed = fc.array(fc.oneof(letters, fc.string({ unit: 'binary', maxLength: 3 })), { maxLength: 40 })
    fc.assert(
      fc.property(mixed, (parts) => {
        const text = parts.join('')
        for (const estimator of builtInEstimators) expect(estimator.text(text)).toBe(byRule(text))
      }),
      { numRuns: runsOf(1_000) },
    )
    const everyPoint = Array.from({ length: 0x30000 }, (_, point) => String.fromCodePoint(point)).join('')
    expect(cost(everyPoint)).toBe(byRule(everyPoint))
  })

  it('is a whole number that never falls when a text grows', () => {
    fc.assert(
      fc.property(texts, texts, (one, two) => {
        expect(Number.isInteger(cost(one))).toBe(true)
        expect(cost(`${one} ${two}`)).toBeGreaterThanOrEqual(cost(one) - 1)
        expect(cost(one)).toBeGreaterThanOrEqual(Math.ceil(one.length / 8))
      }),
    )
  })
})

describe('the estimate of a message', () => {
  it('counts two for the role, the content, the name, and the JSON of its calls', () => {
    expect(messageTokens({ role: 'user', content: 'abcd' }, defaultEstimator)).toBe(3)
    expect(messageTokens({ role: 'user', content: 'abcd', name: 'Ines' }, defaultEstimator)).toBe(4)
    const toolCalls = [{ id: 'x', type: 'function', function: { name: 'run', arguments: '{}' } }]
    expect(messageTokens({ role: 'assistant', content: null, toolCalls }, defaultEstimator)).toBe(
      2 + cost(JSON.stringify(toolCalls)),
    )
    expect(messageTokens({ role: 'tool', content: 'abcd', toolCallId: 'call' }, defaultEstimator)).toBe(4)
  })

  it('counts nothing for what is not there, and a thousand for an image', () => {
    expect(contentTokens(null, defaultEstimator)).toBe(0)
    expect(contentTokens(undefined, defaultEstimator)).toBe(0)
    expect(contentTokens([], defaultEstimator)).toBe(0)
    const parts = [
      { type: 'text', text: 'abcd' },
      { type: 'image_url', image_url: { url: `data:${'x'.repeat(99_999)}` } },
      { type: 'reasoning', signature: 'abc' },
    ]
    expect(contentTokens(parts, defaultEstimator)).toBe(1 + IMAGE_TOKENS + cost(JSON.stringify(parts[2])))
  })
})

/** Data as it looks in base64. */
const base64 = (bytes: number): string =>
  Buffer.from(Array.from({ length: bytes }, (_, at) => (at * 7919) % 251)).toString('base64')

describe('the estimate of a part that is no text', () => {
  const KB = 1000
  const data = base64(500 * KB)
  const url = `data:application/pdf;base64,${data}`
  it.each([
    ['a file of the OpenAI API', { type: 'file', file: { filename: 'report.pdf', file_data: url } }, 20_000],
    ['a file of the Responses API', { type: 'input_file', filename: 'report.pdf', file_data: url }, 20_000],
    [
      'a document of the Anthropic API',
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } },
      20_000,
    ],
    ['a file of the AI SDK', { type: 'file', mediaType: 'application/pdf', data }, 20_000],
    ['data in line', { type: 'inline_data', inline_data: { mime_type: 'application/pdf', data } }, 20_000],
    ['a short file', { type: 'file', file: { file_data: `data:application/pdf;base64,${base64(900)}` } }, 2_000],
    ['a file that is only named', { type: 'file', file: { file_id: 'file-1' } }, 2_000],
    ['a file of text', { type: 'file', mediaType: 'text/csv', data }, 125_000],
    [
      'a document that is its text',
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'abcd'.repeat(1_000) } },
      1_020,
    ],
    ['an image by its address', { type: 'image_url', image_url: { url: 'https://example.org/a.png' } }, IMAGE_TOKENS],
    [
      'an image of the Anthropic API',
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
      IMAGE_TOKENS,
    ],
    ['an image as a file', { type: 'file', mediaType: 'image/png', data }, IMAGE_TOKENS],
    [
      'an image as bytes that went through JSON',
      { type: 'image', image: JSON.parse(JSON.stringify(new Uint8Array(2_000))) as unknown },
      IMAGE_TOKENS,
    ],
    ['sound', { type: 'input_audio', input_audio: { data, format: 'mp3' } }, 500],
    ['sound as a file', { type: 'file', mediaType: 'audio/wav', data }, 500],
    ['film', { type: 'video', source: { type: 'base64', media_type: 'video/mp4', data } }, 500],
    [
      'an image in a tool result',
      { type: 'tool_result', content: [{ type: 'image', source: { type: 'base64', data } }] },
      IMAGE_TOKENS + cost('{"type":"tool_result","content":[""]}'),
    ],
    [
      'data in a part that nobody knows',
      { type: 'hologram', payload: data },
      20_000 + cost('{"type":"hologram","payload":""}'),
    ],
    [
      'prose in a part that nobody knows',
      { type: 'thinking', thinking: 'Thus it is. '.repeat(500) },
      cost(JSON.stringify({ type: 'thinking', thinking: 'Thus it is. '.repeat(500) })),
    ],
  ])('%s counts by its kind and length', (_name, part, tokens) => {
    expect(contentTokens([part], defaultEstimator)).toBe(tokens)
    expect(contentTokens([{ type: 'text', text: 'abcd' }, part], defaultEstimator)).toBe(tokens + 1)
  })

  it('counts the sound beside an answer by its length too', () => {
    expect(
      messageTokens({ role: 'assistant', content: 'abcd', extra: { audio: { id: 'a', data } } }, defaultEstimator),
    ).toBe(2 + 1 + 20_000 + cost('{"audio":{"id":"a","data":""}}'))
  })

  it('is what an estimator says that has a number of its own, which is told the kind, the length and the name', () => {
    const estimator = {
      name: 'own-media',
      text: cost,
      part: (_part: unknown, media: object) =>
        'kind' in media && media.kind === 'file' ? Object.keys(media).length : undefined,
    }
    expect(
      contentTokens(
        [
          { type: 'file', file: { filename: 'report.pdf', file_data: url } },
          { type: 'image_url', image_url: { url: 'x' } },
        ],
        estimator,
      ),
    ).toBe(4 + IMAGE_TOKENS)
  })

  it('stays what it was for a conversation that recorded the estimator before', () => {
    const before = builtInEstimators.find(({ name }) => name === 'characters-by-script-1') ?? defaultEstimator
    const parts = [
      { type: 'image_url', image_url: { url } },
      { type: 'file', file: { file_data: url } },
      { type: 'input_text', text: 'abcd' },
    ]
    expect(contentTokens(parts, before)).toBe(
      IMAGE_TOKENS + cost(JSON.stringify(parts[1])) + cost(JSON.stringify(parts[2])),
    )
    expect(messageTokens({ role: 'user', content: '', extra: { seen: data } }, before)).toBe(
      2 + cost(JSON.stringify({ seen: data })),
    )
  })
})
