/** Progress output: on a terminal it changes no modes, otherwise it prints occasional lines. */
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { startProgress } from '../../src/interfaces/cli/progress.js'
import { captureStandardError } from '../support/standard-error.js'

const standardError = captureStandardError()
afterEach(() => {
  jest.useRealTimers()
})

describe('progress', () => {
  it('changes nothing of a terminal: a process that is ended at once leaves it as it was', async () => {
    process.stderr.isTTY = true
    const bar = await startProgress('replaying', 100)
    bar.update(50, 'half of it')
    bar.stop()
    expect(standardError.text()).toContain('replaying')
    // Neither cursor visibility nor line wrapping changes.
    // oxlint-disable-next-line no-control-regex -- the test is about escape sequences
    expect(standardError.text()).not.toMatch(/\x1b\[\?/u)
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
    const written = standardError.text()
    // oxlint-disable-next-line no-control-regex -- the test is about escape sequences
    const lines = written.replaceAll(/\x1b\[[0-9;]*[A-Za-z]/gu, '\n').split(/[\r\n]+/u)
    expect(lines).toContainEqual(expect.stringMatching(/ 50%, 1 h 6 min left, 1 of 20/u))
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(80)
  })

  it('elsewhere says what it heard last, though nothing comes behind it, and nothing twice', async () => {
    jest.useFakeTimers()
    process.stderr.isTTY = false
    const lines = await startProgress('replaying', 100)
    lines.update(1, 'one call')
    expect(standardError.text()).toBe('')
    jest.advanceTimersByTime(60_000)
    expect(standardError.text()).toMatch(/^replaying: one call.*\n$/u)
    lines.stop()
  })

  it('estimates the remaining time only after 2 % of the work', async () => {
    jest.useFakeTimers()
    process.stderr.isTTY = false
    const lines = await startProgress('importing', 1_000)
    jest.advanceTimersByTime(20_000)
    lines.update(5, '5 messages')
    expect(standardError.text()).toBe('importing: 5 messages\n')
    jest.advanceTimersByTime(20_000)
    lines.update(100, '100 messages')
    expect(standardError.text()).toMatch(/100 messages, .* left\n$/u)
    lines.stop()
  })
})
