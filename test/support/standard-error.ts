/** Captures standard error of this process, for tests of what a terminal shows. */
import { afterEach, beforeEach, jest } from '@jest/globals'
import { resetOutput } from '../../src/interfaces/cli/output.js'

/** Registers the capture for each test of a file. The terminal's settings are restored after each test. */
export function captureStandardError(): { readonly text: () => string } {
  const { isTTY, columns } = process.stderr
  let written = ''
  let spy: ReturnType<typeof jest.spyOn>
  beforeEach(() => {
    resetOutput()
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
  })
  return { text: () => written }
}
