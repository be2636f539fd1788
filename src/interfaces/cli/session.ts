/** Opens the ledger for one command and always closes it. Heavy modules are loaded here. */
import type { Config } from './config/load-config.js'
import { isService } from '../../library/addresses.js'
import type { Ledger, LedgerOptions } from '../../library/ledger.js'
import type { ServiceStores } from '../../library/processes.js'
import { isLedgerError, LedgerError } from '../../lib/ledger-error.js'
import { copyCommand } from '../../lib/platform.js'
import type { Flags } from './flags.js'
import { hasPrinted, note, noteColours } from './output.js'

export interface SessionNeeds {
  /** Creates the store if it does not exist. Other commands fail with a hint how to create one. */
  readonly creates?: boolean
  /** Only reads, so it works while another process has the directory open. */
  readonly reads?: true
  /** Needs the directory for itself: a resident reader closes it. With `reads`. */
  readonly alone?: true
  /** Uses the configured policy and summarizer: `import`, `append`, `compact`, `replay`, `editions adopt`. */
  readonly writes?: boolean
  /** The command makes its own summarizers, so the configured one is not opened: `evaluate`. */
  readonly makesSummarizers?: true
  /** False for a short command: it must not wait for summaries made ahead of need. */
  readonly ahead?: boolean
  /** Name under which a prompt file is recorded; default: the file name. */
  readonly promptName?: string | undefined
  /** Called with each request to the summarizer's model. */
  readonly onRequest?: NonNullable<LedgerOptions['onRequest']>
  /** Shows costs of the ledger. */
  readonly prices?: true
  /** Searches, or updates the search index. Uses the embedding model, if one is configured. */
  readonly searches?: boolean
}

export interface Session {
  readonly ledger: Ledger
  /** Stores of the service, such as keys. */
  readonly stores: ServiceStores
  readonly config: Config
  /** Background errors so far, each message once. */
  readonly warnings: readonly string[]
}

/** Settings that only a local process uses. A service has its own. */
const OF_THE_SERVICE = [
  'database',
  'keys',
  'erasable',
  'workers',
  'actor',
  'summarizer',
  'strategy',
  'model',
  'prompt',
  'persona',
] as const

/** `withLedger` for the ledger of a service. */
async function withService<T>(config: Config, work: (session: Session) => Promise<T>): Promise<T> {
  // Values from the environment or the config file may be for local ledgers; a flag is for this call.
  const ignored = OF_THE_SERVICE.find((key) => config.origins[key]?.startsWith('--') === true)
  if (ignored !== undefined)
    throw new LedgerError(
      'Usage',
      `${config.origins[ignored] ?? ignored} has no effect with a service, which uses its own settings`,
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
    throw new LedgerError('Usage', `${config.origins['store'] ?? '--store'}: ${error.message}`)
  }
  const session: Session = {
    ledger,
    get stores(): never {
      throw new LedgerError(
        'Usage',
        `${new URL(config.store).origin} is a service: run this command on the machine of its store`,
      )
    },
    config,
    warnings: [],
  }
  try {
    return await work(session)
  } finally {
    await ledger.close()
  }
}

/** Opens the ledger, calls `work` and closes the ledger. */
export async function withLedger<T>(
  flags: Flags,
  needs: SessionNeeds,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const [{ actorOf }, { isFolder, loadConfig, placeOf }, { warningForPrompt, personaOf, summarizerOf, timeLimitOf }] =
    await Promise.all([
      import('./config/actor.js'),
      import('./config/load-config.js'),
      import('./config/summarizer.js'),
    ])
  const config = await loadConfig({ flags, env: process.env, cwd: process.cwd() }, { writes: needs.writes === true })
  if (isService(config.store)) return await withService(config, work)
  const [{ nameWithoutLedger, openLedger, openService }, { sentenceOfProblem }] = await Promise.all([
    import('../../library/compose.js'),
    import('../../library/problem.js'),
  ])
  const missingStore = needs.creates === true ? undefined : await nameWithoutLedger(config.store)
  if (missingStore !== undefined) {
    throw new LedgerError(
      'NoLedger',
      `there is no ledger in ${missingStore}: create one with \`context-ledger import FILE\`, or choose another with --store or CONTEXT_LEDGER_STORE`,
    )
  }
  /** Finds a recorded prompt by name. It must be known before the ledger is opened with it. */
  const findPrompt = async (which: string): Promise<{ readonly name: string; readonly text: string } | undefined> => {
    if (needs.creates === true && (await nameWithoutLedger(config.store)) !== undefined) return undefined
    const { templateMeant } = await import('../../application/recording/list-prompts.js')
    const reading = await openLedger(placeOf(config))
    try {
      return templateMeant((await reading.admin.prompts.list()).prompts, which)
    } finally {
      await reading.close()
    }
  }
  const summarizer =
    needs.writes === true && needs.makesSummarizers !== true
      ? await summarizerOf(config, { promptName: needs.promptName, findPrompt })
      : undefined
  const promptWarning = warningForPrompt(summarizer)
  if (promptWarning !== undefined) note(`${noteColours.yellow('warning:')} ${promptWarning}`)
  const warnings: string[] = []
  /** The process through which this one read the directory has ended: the read is done again. */
  const hasOwnerEnded = (error: unknown): boolean =>
    needs.reads === true && isFolder(config.store) && isLedgerError(error, 'StoreUnavailable')
  const options: LedgerOptions = {
    ...placeOf(config),
    workers: config.workers,
    ...(needs.reads === true ? { readOnly: true } : {}),
    ahead: needs.ahead !== false,
    ...(config.erasable === 'on' ? { erasable: true } : {}),
    ...(summarizer === undefined ? {} : { summarizer }),
    ...(needs.writes === true ? { persona: await personaOf(config) } : {}),
    ...(config.policy === undefined ? {} : { policy: config.policy }),
    ...(needs.prices === true ? { prices: await (await import('./config/prices.js')).pricesOf(config) } : {}),
    ...(needs.searches === true && config.embeddingModel !== undefined
      ? {
          embedding: {
            model: config.embeddingModel,
            ...(config.baseUrl === undefined ? {} : { baseUrl: config.baseUrl }),
            ...(config.apiKey === undefined ? {} : { apiKey: config.apiKey }),
            ...timeLimitOf(config),
          },
        }
      : {}),
    actor: actorOf(config),
    onOpening: note,
    ...(needs.onRequest === undefined ? {} : { onRequest: needs.onRequest }),
    onProblem: (problem) => {
      if (hasOwnerEnded(problem)) return
      const sentence = sentenceOfProblem(problem)
      if (warnings.includes(sentence)) return
      warnings.push(sentence)
      note(`${noteColours.yellow('warning:')} ${sentence}`)
    },
  }
  const attempt = async (): Promise<T> => {
    const { ledger, ...stores } = await openService(options, {
      ...(needs.alone === true ? { alone: true } : {}),
      beforeUpgrade: confirmUpgrade,
    })
    try {
      return await work({ ledger, stores, config, warnings })
    } finally {
      await ledger.close()
    }
  }
  try {
    return await repeated(attempt, (error) => hasOwnerEnded(error) && !hasPrinted())
  } finally {
    if (needs.reads === true && needs.alone !== true) await (await import('./start-resident.js')).startResident(config)
  }
}

/** Asks on a terminal before a store becomes one that earlier versions of this program cannot open. */
async function confirmUpgrade({ name, from, to }: { name: string; from: number; to: number }): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return
  const copy = name.includes('://') ? 'pg_dump' : copyCommand(name, `${name}.version-${String(from)}`)
  const question = `${name} was written by an earlier version of this program. Upgrade its tables (${String(from)} to ${String(to)})? Earlier versions cannot open it afterwards; to keep a copy for them, answer no and run \`${copy}\`.`
  const { confirmed } = await import('./confirm.js')
  if (await confirmed(question)) return
  throw new LedgerError('Usage', `${name} was not upgraded, so this version cannot read it`)
}

/** Attempts of a command that reads through processes which end meanwhile, such as other commands. */
const MOST_ATTEMPTS = 10

async function repeated<T>(attempt: () => Promise<T>, mayRepeat: (error: unknown) => boolean): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (attempts === MOST_ATTEMPTS || !mayRepeat(error)) throw error
    }
  }
}
