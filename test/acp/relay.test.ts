/** The bytes between an editor and an agent, and the note in a prompt. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { WaitingNotes } from '../../src/interfaces/acp/prompt-note.js'
import { LineEditor, LineSplitter, partsOfLine, recordLine, UniqueTimes } from '../../src/interfaces/acp/relay.js'

/** Lines of any bytes, and the same bytes in pieces of any size. */
const cutLines = fc
  .tuple(
    fc.array(fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 10)))),
    fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
  )
  .map(([lines, sizes]) => {
    const whole = Buffer.concat(lines.map((line) => Buffer.concat([line, Buffer.from('\n')])))
    const chunks: Buffer[] = []
    for (let at = 0, turn = 0; at < whole.length; turn += 1) {
      const size = sizes[turn % sizes.length] ?? 1
      chunks.push(whole.subarray(at, at + size))
      at += size
    }
    return { lines, whole, chunks }
  })

const prompt = (sessionId: string, blocks: readonly unknown[] = [{ type: 'text', text: 'Go on.' }]): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'session/prompt', params: { sessionId, prompt: blocks } })

describe('bytes', () => {
  it('pass unchanged, in any pieces, while notes come and go', () => {
    fc.assert(
      fc.property(cutLines, fc.infiniteStream(fc.boolean()), ({ whole, chunks }, wanted) => {
        const passed: Buffer[] = []
        const editor = new LineEditor(
          (bytes) => passed.push(bytes),
          () => wanted.next().value === true,
          (line) => line,
        )
        for (const chunk of chunks) editor.take(chunk)
        editor.end()
        expect(Buffer.concat(passed).equals(whole)).toBe(true)
      }),
    )
  })

  it('are passed on before their line ends, unless a note waits', () => {
    const passed: string[] = []
    let isWanted = false
    const editor = new LineEditor(
      (bytes) => passed.push(bytes.toString()),
      () => isWanted,
      (line) => Buffer.from(line.toString().toUpperCase()),
    )
    editor.take(Buffer.from('half'))
    isWanted = true
    editor.take(Buffer.from(' a line\nnext'))
    editor.take(Buffer.from(' one\n'))
    isWanted = false
    editor.take(Buffer.from('last'))
    expect(passed).toEqual(['half', ' a line\n', 'NEXT ONE\n', 'last'])
  })

  it('are recorded line by line; a line above the limit is counted', () => {
    fc.assert(
      fc.property(cutLines, ({ lines, chunks }) => {
        const recordedLines: string[] = []
        let tooLong = 0
        const splitter = new LineSplitter(
          (line) => recordedLines.push(line.toString('hex')),
          () => {
            tooLong += 1
          },
          20,
        )
        for (const chunk of chunks) splitter.take(chunk)
        expect(recordedLines).toEqual(lines.filter(({ length }) => length <= 20).map((line) => line.toString('hex')))
        expect(tooLong).toBe(lines.length - recordedLines.length)
      }),
    )
  })

  it('are recorded with the side and the time', () => {
    const line = recordLine('agent', '2026-11-30T10:00:00.000Z', Buffer.from('{"jsonrpc":"2.0"}'))
    expect(partsOfLine(line.toString().trimEnd())).toEqual({
      at: '2026-11-30T10:00:00.000Z',
      from: 'agent',
      message: '{"jsonrpc":"2.0"}',
    })
  })
})

it('the times of records never repeat, and stay times', () => {
  const times = new UniqueTimes(() => new Date('2026-11-30T10:00:00.250Z'))
  const all = Array.from({ length: 2_000 }, () => times.next())
  expect(new Set(all).size).toBe(2_000)
  for (const time of all) expect(new Date(time).getTime()).toBe(Date.parse('2026-11-30T10:00:00.250Z'))
})

describe('a note', () => {
  it('is the first block of the next prompt of its session, once; everything else stays as it was written', () => {
    const notes = new WaitingNotes()
    notes.put('s1', 'You forgot "plan.txt".')
    const otherPrompt = Buffer.from(prompt('s2'))
    expect(notes.addTo(otherPrompt)).toBe(otherPrompt)
    // A number that no double has.
    const written = prompt('s1').replace('"id":1', '"id":12345678901234567890')
    const [before, after] = written.split('"prompt":[')
    expect(notes.addTo(Buffer.from(written)).toString()).toBe(
      `${before ?? ''}"prompt":[{"type":"text","text":"You forgot \\"plan.txt\\"."},${after ?? ''}`,
    )
    expect(notes.areWaiting).toBe(false)
    expect(notes.addTo(Buffer.from(written)).toString()).toBe(written)
  })

  it('waits while the prompt is a command of the agent', () => {
    const notes = new WaitingNotes()
    notes.put('s1', 'note')
    const command = Buffer.from(prompt('s1', [{ type: 'text', text: '/compact' }]))
    expect(notes.addTo(command)).toBe(command)
    expect(notes.areWaiting).toBe(true)
  })

  it('is the only block of an empty prompt', () => {
    const notes = new WaitingNotes()
    notes.put('s1', 'note')
    expect(JSON.parse(notes.addTo(Buffer.from(prompt('s1', []))).toString()).params.prompt).toEqual([
      { type: 'text', text: 'note' },
    ])
  })

  it.each([
    'no JSON session/prompt',
    '{"method":"session/prompt"}',
    '{"method":"session/prompt","params":{"sessionId":"s1"}}',
    'null',
  ])('leaves %s as it is', (line) => {
    const notes = new WaitingNotes()
    notes.put('s1', 'note')
    expect(notes.addTo(Buffer.from(line)).toString()).toBe(line)
    expect(notes.areWaiting).toBe(true)
  })

  it('that is empty is none, and a later one replaces an earlier one', () => {
    const notes = new WaitingNotes()
    notes.put('s1', 'earlier')
    notes.put('s1', '')
    expect(notes.areWaiting).toBe(false)
  })
})
