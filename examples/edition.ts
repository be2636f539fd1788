/**
 * An edition from prompt to adoption: a prompt forgets what matters, another one compacts the same history again, the two are compared, the
 * better one is put into force, and put back again. No message is lost on the way, and nothing of it needs a key: the model is a stand-in
 * that keeps the sentences which have one of the words that its prompt names. Run it with `npx tsx examples/edition.ts`.
 *
 * Making, adopting and reverting are called on the use cases here, over the folder while no ledger has it open.
 */
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { either as E, taskEither as TE } from 'fp-ts'
import { openLedger, type Clock, type EditionReport, type PreparedSummary, type Summarizer } from '../src/index.js'
import { createPostgresBodyStore } from '../src/adapters/postgres/body-store.js'
import { createPostgresEventStore } from '../src/adapters/postgres/event-store.js'
import { openFolder } from '../src/adapters/pglite/sql.js'
import { createConversations } from '../src/application/handle-command.js'
import { loadEdition, type Log } from '../src/application/load-conversation.js'
import { revertEdition } from '../src/application/put-back.js'
import { createRegisterPrompt } from '../src/application/register-prompt.js'
import { openReplay } from '../src/application/replay-conversation.js'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** A prompt, and a stand-in for the model that follows it: of all sentences those that have one of its quoted words. */
function summarizerWith(name: string, prompt: string): Summarizer {
  const words = [...prompt.matchAll(/"(\w+)"/gu)].map((match) => match[1] ?? '')
  const facts = { strategy: 'sentences', provider: 'stand-in', model: 'stand-in-1' }
  return {
    ...facts,
    windowTokens: 128_000,
    prepare(job): PreparedSummary {
      const texts = job.kind === 'chunk' ? job.messages.map(({ content }) => (typeof content === 'string' ? content : '')) : job.summaries.map(({ text }) => text)
      const kept = texts.flatMap((text) => text.split(/(?<=[.?!])\s+/u)).filter((sentence) => words.some((word) => sentence.includes(word)))
      // Four characters are about a token; a summary above `maxSummaryTokens` would be refused.
      const request = (kept.length === 0 ? 'Nothing of note.' : kept.join(' ')).slice(0, job.maxSummaryTokens * 3)
      return { job, ...facts, parameters: {}, prompt: { name, sha256: sha256(prompt), text: prompt }, formatterVersion: 1, requestHash: sha256(JSON.stringify([prompt, job.maxSummaryTokens, request])), request }
    },
    summarize: ({ request }) => TE.right({ text: String(request), durationMs: 0 }),
  }
}

const chatty = summarizerWith('chatty', 'Keep every sentence with "Good" or "Sure".')
const careful = summarizerWith('careful', 'Keep every sentence with "must", "never", "Never" or "fails".')

const CONVERSATION = 'release'
const EDITION = 'careful1'
const clock: Clock = { now: () => new Date(), newId: () => crypto.randomUUID() }
const by = { actor: 'example', correlationId: 'example', causationId: 'example' }

/** Works on the log of a folder. */
async function withLog<T>(folder: string, work: (log: Log) => Promise<T>): Promise<T> {
  const db = await openFolder(folder)
  try {
    return await work({ store: createPostgresEventStore(db), bodies: createPostgresBodyStore(db) })
  } finally {
    await db.close()
  }
}

const rightOf = <T>(either: E.Either<{ readonly kind: string }, T>): T => {
  if (E.isLeft(either)) throw new Error(either.left.kind)
  return either.right
}

/** Compacts the same history again, into the edition's own stream. */
const replay = (folder: string, summarizer: Summarizer): Promise<void> =>
  withLog(folder, async (log) => {
    const conversation = await createConversations({ log, clock }).load(CONVERSATION)
    if (conversation.configuration === undefined) throw new Error('the conversation has no configuration')
    const { strategy, provider, model } = summarizer
    const made = rightOf(
      await openReplay(
        { log, clock, summarizer, persona: '', registerPrompt: createRegisterPrompt(log, clock, 'example'), actor: 'example' },
        { editionId: EDITION, configuration: conversation.configuration, summarizer: { strategy, provider, model }, conversation },
        { recording: true },
      ),
    )
    const { kind } = await made.advance()
    if (kind !== 'done') throw new Error(`the edition is ${kind}`)
  })

const adopt = (folder: string): Promise<void> =>
  withLog(folder, async (log) => {
    rightOf(await createConversations({ log, clock }).handle(CONVERSATION, [{ type: 'AdoptEdition', edition: await loadEdition(log, CONVERSATION, EDITION) }], by))
  })

const revert = (folder: string): Promise<void> => withLog(folder, async (log) => { rightOf(await revertEdition({ log, conversations: createConversations({ log, clock }) }, CONVERSATION, by)) })

export interface EditionStory {
  readonly report: EditionReport
  /** The context before the edition, with it, and after it was put back. */
  readonly contexts: readonly [string, string, string]
}

/** Tells it all, and what it came to. */
export async function edition(say: (line: string) => void = console.log): Promise<EditionStory> {
  const folder = await mkdtemp(join(tmpdir(), 'context-ledger-example-'))
  try {
    let ledger = await openLedger({ store: folder, summarizer: chatty, policy: { modelMaxTokens: 2_000 } })
    const shown = async (): Promise<string> => (await ledger.context(CONVERSATION)).messages.map(({ content }) => (typeof content === 'string' ? content : '')).join('\n')
    await ledger.append(CONVERSATION, { role: 'user', content: 'Never deploy from a branch. The release must have ticket REL-412 in src/release/notes.md.' })
    for (let turn = 1; turn <= 40; turn += 1) {
      await ledger.append(CONVERSATION, [
        { role: 'user', content: `Good morning, this is turn ${String(turn)}. Is the build of src/part-${String(turn)}.ts green? We would like to know before noon.` },
        { role: 'assistant', content: `Sure, I looked. The build of part ${String(turn)} fails with E_${String(turn * 7)} and was started again.` },
      ])
      await ledger.settled(CONVERSATION)
    }
    const before = await shown()
    await ledger.close()

    await replay(folder, careful)
    ledger = await openLedger({ store: folder, summarizer: careful })
    const compared = await ledger.editions.compare([CONVERSATION], EDITION)
    const report = compared.conversations[0]?.report
    if (report === undefined) throw new Error('nothing was compared')
    for (const { kind, total, against, edition: kept, gained } of report.losses) say(`${kind}: ${String(against.kept)} of ${String(total)} kept before, ${String(kept.kept)} now${gained.kept.items[0] === undefined ? '' : `, such as ${gained.kept.items[0].text}`}`)
    await ledger.close()

    await adopt(folder)
    ledger = await openLedger({ store: folder, summarizer: careful })
    const adopted = await shown()
    const proof = await ledger.verify(CONVERSATION)
    say(`adopted: the context says "Never deploy" ${adopted.includes('Never deploy') ? 'now' : 'still not'}; ${proof.ok ? 'nothing was lost' : `${String(proof.problems.length)} problems`}`)
    await ledger.close()

    await revert(folder)
    ledger = await openLedger({ store: folder, summarizer: chatty })
    const reverted = await shown()
    say(`reverted: the context is ${reverted === before ? 'what it was' : 'another'}`)
    await ledger.close()
    return { report, contexts: [before, adopted, reverted] }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

if (process.argv[1]?.endsWith('edition.ts') === true) await edition()
