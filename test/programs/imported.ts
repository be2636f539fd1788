/** The transcripts of a program in a ledger in memory: recorded events and contexts. */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { planImport } from '../../src/interfaces/cli/import/import-plan.js'
import { openLedger, type ImportedConversation, type ImportedTranscript, type Ledger } from '../../src/index.js'
import type { RecordedEvent } from '../../src/domain/events/index.js'
import { isOfType } from '../../src/application/recording/read-event.js'
import { chatMessages } from './model/apis.js'
import { textsOf, type ContextMessage } from './model/request.js'
import type { Trial } from './trial.js'

/** A recorded conversation. */
export interface RecordedLog {
  readonly conversationId: string
  readonly events: readonly RecordedEvent[]
}

export class Imported {
  private readonly conversationIds = new Set<string>()

  private constructor(
    private readonly trial: Trial,
    readonly ledger: Ledger,
  ) {}

  static async open(trial: Trial): Promise<Imported> {
    return new Imported(trial, await openLedger({ store: 'memory' }))
  }

  /** Imports everything that the program has written so far. */
  async update(): Promise<readonly ImportedTranscript[]> {
    const { agent, site } = this.trial
    const paths = agent.transcripts.map((path) => join(site.home, path)).filter((path) => existsSync(path))
    const { files } = await planImport(paths, agent.name)
    const results: ImportedTranscript[] = []
    for (const { path, program } of files) {
      if (program === undefined) continue
      try {
        const result = await this.ledger.transcripts.import(path, { from: program })
        for (const { conversationId } of result.conversations) this.conversationIds.add(conversationId)
        results.push(result)
      } catch (error) {
        this.trial.check('import', false, String(error))
      }
    }
    return results
  }

  /** Whether a file of the program contains a text without quotation marks. */
  async isStored(text: string): Promise<boolean> {
    const { agent, site } = this.trial
    for (const path of agent.transcripts.map((each) => join(site.home, each)))
      for (const entry of existsSync(path) ? await readdir(path, { recursive: true, withFileTypes: true }) : [])
        if (entry.isFile() && (await readFile(join(entry.parentPath, entry.name))).includes(text)) return true
    return false
  }

  async logs(): Promise<readonly RecordedLog[]> {
    return await logsOf(this.ledger, [...this.conversationIds])
  }

  /** The conversation in which the user wrote this text. A sub-agent's prompt has a mark of its own. */
  async conversationWith(text: string): Promise<RecordedLog | undefined> {
    return logWith(await this.logs(), text)
  }

  async context(conversationId: string): Promise<readonly ContextMessage[]> {
    return chatMessages((await this.ledger.context(conversationId)).messages)
  }

  async close(): Promise<void> {
    await this.ledger.close()
  }
}

/** The events of conversations. */
export async function logsOf(ledger: Ledger, conversationIds: readonly string[]): Promise<readonly RecordedLog[]> {
  const logs: RecordedLog[] = []
  for (const conversationId of conversationIds) {
    const events: RecordedEvent[] = []
    for await (const event of ledger.log(conversationId)) events.push(event)
    logs.push({ conversationId, events })
  }
  return logs
}

/** The conversation in which the user wrote this text. */
const logWith = (logs: readonly RecordedLog[], text: string): RecordedLog | undefined =>
  logs.find(({ events }) => messagesIn(events, 'user').some((each) => each.includes(text)))

/** Texts of the recorded messages of a role. */
export const messagesIn = (events: readonly RecordedEvent[], role: string): readonly string[] =>
  events
    .filter((event) => isOfType(event, 'MessageAppended'))
    .filter(({ data }) => data.role === role)
    .map(({ data }) => textsOf(data.content).join('\n'))

/** Sums the new records of an import. */
export const countNew = (results: readonly ImportedTranscript[]): number =>
  results
    .flatMap(({ conversations }) => conversations)
    .reduce((sum, { messages, compactions }: ImportedConversation) => sum + messages + compactions, 0)
