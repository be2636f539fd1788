/** What progress writes: on a terminal nothing that would have to be put back, elsewhere a line now and then. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { startProgress } from '../../src/cli/progress.js'

let written: string
let spy: ReturnType<typeof jest.spyOn>
const { isTTY, columns } = process.stderr
beforeEach(() => {
  written = ''
  spy = jest.spyOn(process.stderr, 'write').mockImplementation((text: string | Uint8Array) => {
    written += String(text)
    return true
  })
})
afterEach(() => {
  process.stderr.isTTY = isTTY
  process.stderr.columns = columns
  spy.mockRestore()
  jest.useRealTimers()
})

describe('progress', () => {
  it('changes nothing of a terminal: a process that is ended at once leaves it as it was', async () => {
    process.stderr.isTTY = true
    const bar = await startProgress('replaying', 100)
    bar.update(50, 'half of it')
    bar.stop()
    expect(written).toContain('replaying')
    // Neither the cursor nor the line wrap is switched.
    // oxlint-disable-next-line no-control-regex -- escape sequences are what it is about
    expect(written).not.toMatch(/\x1b\[\?/u)
  })

  it('keeps its time left at 80 columns, whatever else there is to tell, in one line', async () => {
    process.stderr.isTTY = true
    process.stderr.columns = 80
    const bar = await startProgress('replaying', 100)
    bar.update(
      50,
      '1 of 20 conversations, 1,234 of 123,456 messages, 1,234 calls, 12,345,678 tokens, 1,234.56 EUR',
      4_000,
    )
    bar.stop()
    // oxlint-disable-next-line no-control-regex -- escape sequences are what it is about
    const lines = written.replaceAll(/\x1b\[[0-9;]*[A-Za-z]/gu, '\n').split(/[\r\n]+/u)
    expect(lines).toContainEqual(expect.stringMatching(/ 50%, 1 h 6 min left, 1 of 20/u))
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(80)
  })

  it('elsewhere says what it heard last, though nothing comes behind it, and nothing twice', async () => {
    jest.useFakeTimers()
    process.stderr.isTTY = false
    const lines = await startProgress('replaying', 100)
    lines.update(1, 'one call')
    expect(written).toBe('')
    jest.advanceTimersByTime(60_000)
    expect(written).toMatch(/^replaying: one call.*\n$/u)
    lines.stop()
  })
})
