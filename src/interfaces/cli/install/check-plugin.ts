/** Loads a plugin as its program does, reports a compaction of a canary to it, and waits for the note. */
import { setTimeout as delay } from 'node:timers/promises'
import { createCanaryId } from '../hook/canary.js'
import { forgetSession, sessionKey } from '../hook/hook-folder.js'
import type { AgentProgram } from './agent-program.js'
import {
  CANARY_COMMAND,
  CANARY_MS,
  CANARY_RULE,
  ledgerProblemIn,
  missingFile,
  POLL_MS,
  withCanaryRule,
  type Arrival,
} from './check-hook.js'
import { sentenceOf } from '../../../ports/store-error.js'

/** Checks a plugin: a reported compaction must bring a note to the next prompt. */
export async function checkPlugin(
  program: AgentProgram,
  text: string,
  folder: string,
  { hasGuard, compacts }: { readonly hasGuard: boolean; readonly compacts: boolean },
): Promise<Arrival> {
  const sessionId = createCanaryId()
  const start = performance.now()
  try {
    const exports: unknown = await import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`)
    const plugin = await program.loadPlugin?.(exports, sessionId)
    if (plugin === undefined) return { problem: 'it has another form than this command wrote' }
    if (hasGuard) {
      const reason = await withCanaryRule(
        folder,
        `${program.name}/${sessionId}`,
        async () => await plugin.run(CANARY_COMMAND),
      )
      if (reason?.includes(CANARY_RULE) !== true) return { problem: 'the guard did not answer' }
    }
    if (compacts && (await plugin.compact())?.includes(sessionId) !== true)
      return { problem: 'it got no summary within 2 s' }
    await plugin.reportCompaction()
    while (performance.now() < start + CANARY_MS) {
      const note = await plugin.prompt()
      if (note !== undefined) return { noteMs: performance.now() - start, ...ledgerProblemIn(note) }
      await delay(POLL_MS)
      const missing = missingWord(text, folder)
      if (missing !== undefined) return { problem: `no note came back (${missing} does not exist)` }
    }
    return { problem: 'no note came back' }
  } catch (error) {
    return { problem: sentenceOf(error) }
  } finally {
    forgetSession(folder, sessionKey(program.name, sessionId))
  }
}

/** A file that the first statement of a plugin names and that does not exist. */
function missingWord(text: string, folder: string): string | undefined {
  const [, words = '[]'] = /^const \[program, \.\.\.words\] = (\[.*\])$/mu.exec(text) ?? []
  return missingFile(words.replaceAll(/[[\],"]/gu, ' '), folder)
}
