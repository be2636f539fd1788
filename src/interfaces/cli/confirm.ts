/** Asks a question on a terminal. */
import { createInterface } from 'node:readline/promises'
import { note } from './output.js'

/**
 * Whether the user answers yes. Without a terminal, the answer is no. Ctrl-C or Ctrl-D at the prompt means no. `stop`
 * closes the prompt.
 */
export async function confirmed(question: string, stop?: AbortSignal): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return false
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  const close = (): void => {
    prompt.close()
  }
  stop?.addEventListener('abort', close, { once: true })
  // The terminal passes Ctrl-C to readline, which closes without an answer, so no signal is sent.
  const closed = new AbortController()
  prompt.once('close', () => {
    closed.abort()
  })
  try {
    return /^y(?:es)?$/iu.test((await prompt.question(`${question} [y/N] `, { signal: closed.signal })).trim())
  } catch (error) {
    if (!closed.signal.aborted) throw error
    if (stop?.aborted !== true) note('')
    return false
  } finally {
    stop?.removeEventListener('abort', close)
    prompt.close()
  }
}
