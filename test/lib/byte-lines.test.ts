/** Lines do not depend on the chunks, and only a line feed ends one. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { byteLines } from '../../src/lib/byte-lines.js'

/** The bytes of a text in chunks of a given size. */
async function* inChunks(text: string, size: number): AsyncIterable<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function linesOf(chunks: AsyncIterable<Buffer>): Promise<{ text: string; isEnded: boolean }[]> {
  const lines = []
  for await (const { bytes, isEnded } of byteLines(chunks)) lines.push({ text: bytes.toString(), isEnded })
  return lines
}

describe('lines of bytes', () => {
  it('are those of the text, in chunks of any size', async () => {
    const text = fc
      .array(fc.constantFrom('a', '\n', '\r', 'ä', '🚢', '\u2028', 'x'.repeat(84_000)), { maxLength: 12 })
      .map((parts) => parts.join(''))
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 70_000 }), async (written, size) => {
        fc.pre(written.length < 1_000 || size > 100)
        const parts = written.split('\n')
        const ended = parts.slice(0, -1).map((part) => ({ text: part, isEnded: true }))
        const last = parts.at(-1) ?? ''
        expect(await linesOf(inChunks(written, size))).toEqual(
          last === '' ? ended : [...ended, { text: last, isEnded: false }],
        )
      }),
      { numRuns: 60 },
    )
  })

  it('do not end at U+2028, which a JSON text may contain', async () => {
    expect(await linesOf(inChunks('{"query":"a\u2028b"}\n', 5))).toEqual([
      { text: '{"query":"a\u2028b"}', isEnded: true },
    ])
  })

  it('without an end can be rejected by the callback before they fill the memory', async () => {
    const endless = async function* (): AsyncIterable<Buffer> {
      for (;;) yield Buffer.alloc(1_000, 'x')
    }
    const reading = async (): Promise<void> => {
      const lines = byteLines(endless(), (bytes) => {
        if (bytes > 10_000) throw new Error(`${String(bytes)} bytes without an end`)
      })
      for await (const _line of lines) throw new Error('there is no line')
    }
    await expect(reading()).rejects.toThrow('11000 bytes without an end')
  })
})
