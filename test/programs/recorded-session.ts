/** The session of a trial in its ledger. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fieldsOf, jsonOf, listOf } from './model/request.js'
import type { Trial } from './trial.js'

/** Imports what the program has written. */
export async function importSessions(trial: Trial): Promise<void> {
  const paths = trial.agent.transcripts.map((path) => join(trial.site.home, path)).filter((path) => existsSync(path))
  await trial.ledger('import', ...paths, '--from', trial.agent.name)
}

/** The id of the recorded conversation. */
export async function recordedId(trial: Trial): Promise<string | undefined> {
  const { stdout } = await trial.ledger('list', '--json')
  const [conversation] = listOf(fieldsOf(jsonOf(stdout))['conversations'])
  const { conversationId } = fieldsOf(conversation)
  return typeof conversationId === 'string' ? conversationId : undefined
}
