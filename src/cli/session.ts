/**
 * A ledger for the time of one command: configured, opened, and closed whatever happens. The heavy modules are loaded
 * here, and not before.
 */
import type { Config } from './config/load-config.js'
import { isService } from '../library/addresses.js'
import type { Ledger } from '../library/ledger.js'
import type { ServiceStores } from '../library/processes.js'
import { InputError } from './errors.js'
import type { Flags } from './flags.js'
import { note, noteColours } from './output.js'

export interface SessionNeeds {
  /** Makes the store where there is none; everybody else is told how to make one. */
  readonly creates?: boolean
  /** Records nothing: goes beside a process that has the folder open. */
  readonly reads?: true
  /**
   * Goes by the policy and the summarizer that are configured: `import`, `append`, `compact`, `replay`, `editions
   * adopt`.
   */
  readonly writes?: boolean
  /** False for a command that ends right away: it would wait only for summaries that are made ahead of need. */
  readonly ahead?: boolean
  /** The name that a prompt from a file is recorded under, where it is not the file's. */
  readonly promptName?: string | undefined
  /** Searches, or writes what is searched: by meaning too, where an embedding model is configured. */
  readonly searches?: boolean
}

export interface Session {
  readonly ledger: Ledger
  /** What the service keeps beside it. */
  readonly stores: ServiceStores
  readonly config: Config
  /** What went wrong behind the command so far, each sentence once. */
  readonly warnings: readonly string[]
}

/**
 * The same error, with the conversation that may have been meant. It is told at the terminal alone: a library's caller
 * may be somebody's tenant.
 */
async function withSuggestion(ledger: Ledger, error: unknown): Promise<unknown> {
  const { LedgerError, problem } = await import('../library/problem.js')
  if (
    !(error instanceof LedgerError) ||
    error.failure.kind !== 'NoSuchConversation' ||
    ('nearest' in error.failure && error.failure.nearest !== undefined)
  )
    return error
  const { conversationId } = error.failure
  const { nameMeant } = await import('../domain/text/known-names.js')
  // Rows that are not there, or not to be read, are no reason for another error.
  const near = nameMeant(
    conversationId,
    (await ledger.list().catch(() => ({ conversations: [] }))).conversations.map((each) => each.conversationId),
  )
  return near === undefined ? error : problem({ kind: 'NoSuchConversation', conversationId, nearest: near })
}

/** What says how this process would summarize or write, where a service does it by its own settings. */
const OF_THE_SERVICE = ['database', 'workers', 'actor', 'summarizer', 'strategy', 'model', 'prompt', 'persona'] as const

/** The same with a ledger behind a service. */
async function withService<T>(config: Config, work: (session: Session) => Promise<T>): Promise<T> {
  // What the environment or a file holds may be meant for ledgers of this machine; a flag is meant for this very call.
  const idle = OF_THE_SERVICE.find((key) => config.origins[key]?.startsWith('--') === true)
  if (idle !== undefined)
    throw new InputError(
      'Usage',
      `${config.origins[idle] ?? idle} says nothing to a service, which goes by its own settings`,
    )
  const { openRemoteLedger } = await import('../client/remote-ledger.js')
  let ledger: Ledger
  try {
    ledger = openRemoteLedger({
      url: config.store,
      ...(config.serviceKey === undefined ? {} : { key: config.serviceKey }),
      ...(config.policy === undefined ? {} : { policy: config.policy }),
    })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new InputError('Usage', `${config.origins['store'] ?? '--store'}: ${error.message}`)
  }
  const session: Session = {
    ledger,
    get stores(): never {
      throw new InputError('Usage', `${new URL(config.store).origin} is a service: this is done beside its store`)
    },
    config,
    warnings: [],
  }
  try {
    return await work(session)
  } catch (error) {
    throw await withSuggestion(ledger, error)
  } finally {
    await ledger.close()
  }
}

/** Opens the ledger, does `work` with it, and closes it. */
export async function withLedger<T>(
  flags: Flags,
  needs: SessionNeeds,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const [{ actorOf }, { loadConfig }, { blindPrompt, personaOf, summarizerOf }] = await Promise.all([
    import('./config/actor.js'),
    import('./config/load-config.js'),
    import('./config/summarizer.js'),
  ])
  const config = await loadConfig({ flags, env: process.env, cwd: process.cwd() }, { writes: needs.writes === true })
  if (isService(config.store)) return await withService(config, work)
  const [{ nameWithoutLedger, openLedger, openService }, { sentenceOfProblem }] = await Promise.all([
    import('../library/compose.js'),
    import('../library/problem.js'),
  ])
  const nowhere = needs.creates === true ? undefined : await nameWithoutLedger(config.store)
  if (nowhere !== undefined) {
    throw new InputError(
      'NoLedger',
      `there is no ledger in ${nowhere}: \`context-ledger import FILE\` makes one there; --store or CONTEXT_LEDGER_STORE names another`,
    )
  }
  /**
   * The prompt of this name among those that the ledger has recorded. It has to be known before the ledger is opened
   * with it.
   */
  const registered = async (which: string): Promise<{ readonly name: string; readonly text: string } | undefined> => {
    if (needs.creates === true && (await nameWithoutLedger(config.store)) !== undefined) return undefined
    const { templateMeant } = await import('../recording/list-prompts.js')
    const reading = await openLedger({
      store: config.store,
      ...(config.database === undefined ? {} : { database: config.database }),
    })
    try {
      return templateMeant((await reading.prompts.list()).prompts, which)
    } finally {
      await reading.close()
    }
  }
  const summarizer =
    needs.writes === true ? await summarizerOf(config, { promptName: needs.promptName, registered }) : undefined
  const blind = blindPrompt(summarizer)
  if (blind !== undefined) note(`${noteColours.yellow('warning:')} ${blind}`)
  const warnings: string[] = []
  const { ledger, ...stores } = await openService({
    store: config.store,
    workers: config.workers,
    ...(needs.reads === true ? { readOnly: true } : {}),
    ahead: needs.ahead !== false,
    ...(config.database === undefined ? {} : { database: config.database }),
    ...(summarizer !== undefined ? { summarizer, persona: await personaOf(config) } : {}),
    ...(config.policy === undefined ? {} : { policy: config.policy }),
    ...(needs.searches === true && config.embeddingModel !== undefined
      ? {
          embedding: {
            model: config.embeddingModel,
            ...(config.baseUrl === undefined ? {} : { baseUrl: config.baseUrl }),
            ...(config.apiKey === undefined ? {} : { apiKey: config.apiKey }),
          },
        }
      : {}),
    actor: actorOf(config),
    onOpening: note,
    onProblem: (problem) => {
      const sentence = sentenceOfProblem(problem)
      if (warnings.includes(sentence)) return
      warnings.push(sentence)
      note(`${noteColours.yellow('warning:')} ${sentence}`)
    },
  })
  try {
    return await work({ ledger, stores, config, warnings })
  } catch (error) {
    throw await withSuggestion(ledger, error)
  } finally {
    await ledger.close()
  }
}
