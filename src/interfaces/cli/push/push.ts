/**
 * `import` with a service as the store: transcripts are read, redacted and queued on this machine, and sent to the
 * service. Only conversations of the named projects are read into the queue.
 */
import { LedgerError } from '../../../lib/ledger-error.js'
import { createClient } from '../../client/client.js'
import { isLoopback } from '../../../lib/loopback.js'
import type { ImportedTranscript, Ledger, ListOptions, MessageInput } from '../../../library/ledger.js'
import { problem, valueOf } from '../../../library/problem.js'
import { redactorWithoutLedger } from '../../../application/recording/redaction.js'
import type { Config } from '../config/load-config.js'
import type { Flags } from '../flags.js'
import { followTranscripts, type FollowOptions } from '../import/follow.js'
import { conversationLine, hasContent } from '../import/imported-transcript.js'
import { duration } from '../progress.js'
import { line, many, note, noteColours, printable } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { Capture, type ItemRedactor } from './capture.js'
import { projectFolders } from './projects.js'
import { defaultFolder, PushFolder } from './push-folder.js'
import { PushQueue, type QueuedUpload } from './push-queue.js'
import { Sender, type PushAnswer, type PushRequest } from './sender.js'

export interface PushOptions {
  /** The directories that `--project` names. */
  readonly projects: readonly string[]
  readonly scope: string | undefined
  readonly allowsHttp: boolean
  readonly json: boolean
  readonly follows: boolean
}

/** How long one import waits for a service that does not take anything. */
const PATIENCE_MS = 5_000

/** Throws if the address or the key would be readable by others. */
function checkReach(config: Config, flags: Flags, allowsHttp: boolean): void {
  const { protocol, hostname, host } = new URL(config.store)
  if (protocol === 'http:' && !isLoopback(hostname) && !allowsHttp)
    throw new LedgerError(
      'Usage',
      `http://${host} would send sessions and the key unencrypted: use https://, or pass --allow-http in a network that you trust`,
    )
  const key = [flags['service-key']].flat().at(-1)
  if (typeof key === 'string' && !key.startsWith('@'))
    throw new LedgerError(
      'Usage',
      'other users of this machine can read the key in --service-key: pass @FILE, or set CONTEXT_LEDGER_SERVICE_KEY',
    )
}

/** The redactor of everything that leaves this machine; undefined if the policy turns redaction off. */
export function pushRedactor({ policy }: Pick<Config, 'policy'>): ItemRedactor | undefined {
  return valueOf(redactorWithoutLedger(policy), problem)
}

/** A ledger that redacts messages before it sends them. */
export function redactingAppends(ledger: Ledger, redactor: ItemRedactor | undefined): Ledger {
  if (redactor === undefined) return ledger
  const append: Ledger['append'] = async (conversationId, messages, options) =>
    await ledger.append(conversationId, redactor.json<MessageInput | readonly MessageInput[]>(messages).value, options)
  return { ...ledger, append }
}

export class Push {
  private isOffline = false
  private hasWaited = false

  private constructor(
    private readonly origin: string,
    private readonly folder: PushFolder,
    private readonly queue: PushQueue,
    private readonly capture: Capture,
    private readonly sender: Sender,
    private readonly options: PushOptions,
  ) {}

  /** Opens the queue. Throws if the user named no project, or if others could read the texts or the key on the way. */
  static async open(config: Config, flags: Flags, options: PushOptions): Promise<Push> {
    const { scope } = options
    checkReach(config, flags, options.allowsHttp)
    if (options.projects.length === 0)
      throw new LedgerError(
        'Usage',
        'nothing leaves this machine unless you name its project: pass --project DIRECTORY, for each project whose sessions the service may have',
      )
    const projects = await projectFolders(options.projects)
    const redactor = pushRedactor(config)
    // The sender tries again by itself, for as long as it takes.
    const client = createClient({
      url: config.store,
      retries: 0,
      ...(config.serviceKey === undefined ? {} : { key: config.serviceKey }),
    })
    const post = async (request: PushRequest, signal: AbortSignal): Promise<PushAnswer> => {
      const body = { ...request, ...(scope === undefined ? {} : { scope }) }
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- importers make items, and the service checks them
      const given = { body, signal } as unknown as Parameters<typeof client.calls.pushTranscript>[0]
      return (await client.calls.pushTranscript(given)).value
    }
    const folder = await PushFolder.open(defaultFolder(config.store, scope))
    const queue = await PushQueue.open(folder)
    const capture = new Capture({ folder, queue, projects, redactor, resumes: options.follows })
    const sender = new Sender({
      queue,
      post,
      onWait: (reason, forMs) => {
        push.waits(reason, forMs)
      },
      onConnected: () => {
        push.connected()
      },
      onSent: async (upload) => {
        await push.sent(upload)
      },
      onRefused: ({ file, refused = '' }) => {
        note(noteColours.yellow(`${file.head.source} stays queued: ${printable(refused)}`))
      },
    })
    const push = new Push(client.name, folder, queue, capture, sender, options)
    if (queue.messages > 0) note(noteColours.dim(`${push.queued()} from an earlier run`))
    return push
  }

  private queued(): string {
    const { messages } = this.queue
    return `${many(messages, 'message')} ${messages === 1 ? 'is' : 'are'} queued in ${this.folder.path}`
  }

  private waits(reason: string, forMs: number): void {
    this.hasWaited = true
    note(noteColours.yellow(`waiting ${duration(forMs / 1_000)} for ${this.origin}: ${reason}; ${this.queued()}`))
  }

  private connected(): void {
    if (this.hasWaited) note(noteColours.dim(`${this.origin} answers again`))
    this.hasWaited = false
  }

  /** Prints the recorded conversations. Without `--follow`, the import prints it. */
  private async sent({ recorded }: QueuedUpload): Promise<void> {
    if (!this.options.follows) return
    const conversations = [...recorded.values()]
    recorded.clear()
    for (const each of conversations.filter(hasContent))
      await line(this.options.json ? toWire(each) : conversationLine(each, new Map()))
  }

  /** Reads a transcript into the queue, and sends the queue while the service takes it. */
  async import(path: string, program: string, signal: AbortSignal): Promise<ImportedTranscript> {
    const { upload, ...captured } = await this.capture.read(path, program)
    if (!this.isOffline) this.isOffline = !(await this.sender.drain(PATIENCE_MS, signal))
    const conversations = [...(upload?.recorded.values() ?? [])]
    return { file: path, program, ...captured, conversations }
  }

  /** The ledger of the service, whose imports of transcripts go through the queue. */
  ledgerOf(ledger: Ledger): Ledger {
    const never = new AbortController()
    return {
      ...ledger,
      transcripts: {
        ...ledger.transcripts,
        import: async (path, { from = '', signal = never.signal } = {}) => await this.import(path, from, signal),
      },
    }
  }

  /** Sends the rest of the queue. Throws if something stays there. */
  async finish(): Promise<void> {
    const isEmpty = !this.isOffline && (await this.sender.drain(PATIENCE_MS, new AbortController().signal))
    const [refused] = this.queue.refused
    if (refused !== undefined)
      throw new LedgerError(
        'StoreRefused',
        `${this.origin} did not take ${many(this.queue.refused.length, 'transcript')}: ${refused.refused ?? ''}; ${this.queued()}`,
      )
    if (!isEmpty)
      throw new LedgerError(
        'StoreUnavailable',
        `${this.origin} cannot be used now; ${this.queued()}, and the next import to this service sends them`,
      )
  }

  /** Follows transcripts until the signal aborts. Throws if the service refuses the key. */
  async follow(ledger: Ledger, paths: readonly string[], options: FollowOptions): Promise<void> {
    const stop = new AbortController()
    const end = (): void => {
      stop.abort()
    }
    options.signal.addEventListener('abort', end)
    if (options.signal.aborted) end()
    const sending = this.sender.follow(stop.signal).finally(end)
    const { capture } = this
    const target = {
      list: async (filters?: ListOptions) => await ledger.list(filters),
      transcripts: {
        async import(path: string, { from = '' }: { readonly from?: string } = {}): Promise<ImportedTranscript> {
          const { upload: _upload, ...captured } = await capture.read(path, from)
          await capture.closeIdle()
          return { file: path, program: from, ...captured, conversations: [] }
        },
      },
    }
    try {
      await Promise.all([sending, followTranscripts(target, paths, { ...options, signal: stop.signal }).finally(end)])
    } finally {
      await sending.catch(() => undefined)
      if (this.queue.messages > 0) note(`${this.queued()}; the next import to this service sends them`)
    }
  }

  async close(): Promise<void> {
    await this.capture.closeAll()
    await this.folder.close()
  }
}
