/** Calls to the HTTP API of HashiCorp Vault or OpenBao, with its token, a time limit and retries. */
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { backoffMs } from '../../lib/backoff.js'
import type { LedgerError } from '../../lib/ledger-error.js'
import { withinTime } from '../../lib/within-time.js'
import { sleep } from '../../ports/clock.js'
import { isKeyVaultError, keyVaultError } from '../../ports/key-vault.js'
import { codeOf, sentenceOf } from '../../ports/store-error.js'

export interface TransitOptions {
  /** `https://vault.example.org:8200`. */
  readonly server: string
  /** The path of the transit engine, without slashes at its ends. */
  readonly mount: string
  /** Default: `VAULT_NAMESPACE`. */
  readonly namespace?: string | undefined
  /** Milliseconds for one call with its retries. Default: 10,000. */
  readonly timeoutMs?: number | undefined
  /** The first wait between two attempts; each further one is twice as long. Default: 100. */
  readonly retryDelayMs?: number | undefined
}

/** An answer that the caller interprets: success, or a refusal of this call (400, 404). */
export interface TransitAnswer {
  readonly status: number
  readonly data: unknown
  /** Vault's own sentences. Empty for a name that does not exist. */
  readonly errors: readonly string[]
}

const TIMEOUT_MS = 10_000
const ATTEMPTS = 3
const RETRY_DELAY_MS = 100
const MAX_RETRY_DELAY_MS = 1_000
/** An answer has less than 2 KB. */
const MAX_ANSWER_BYTES = 256 * 1024
const MAX_SENTENCE = 200

/** Statuses that a later attempt may not get: a standby that lags, throttled, restarting, sealed. */
const TEMPORARY: ReadonlySet<number> = new Set([412, 429, 500, 502, 503, 504])
const DENIED: ReadonlySet<number> = new Set([401, 403])

const answerSchema = z.object({
  data: z.unknown().optional(),
  errors: z.array(z.string()).nullish(),
})

/** `VAULT_TOKEN`, or the file that `vault login` writes. Read for each call, because an agent renews it. */
async function readToken(): Promise<string | undefined> {
  const token = process.env['VAULT_TOKEN']?.trim()
  if (token !== undefined && token !== '') return token
  try {
    return (await readFile(join(process.env['HOME'] ?? homedir(), '.vault-token'), 'utf8')).trim() || undefined
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > MAX_ANSWER_BYTES) throw new Error('the answer is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parseAnswer(status: number, text: string): TransitAnswer | undefined {
  if (text === '') return { status, data: undefined, errors: [] }
  try {
    const { data, errors } = answerSchema.parse(JSON.parse(text))
    return { status, data, errors: errors ?? [] }
  } catch {
    // A gateway's page, or another program at this address.
    return undefined
  }
}

/** A client of one transit engine. */
export class TransitClient {
  /** For people: `Vault https://vault.example.org:8200, transit engine transit`. */
  readonly name: string
  private readonly base: string

  constructor(private readonly options: TransitOptions) {
    const { server, mount } = options
    this.base = `${server}/v1/${mount}`
    this.name = `Vault ${server}, transit engine ${mount}`
  }

  /**
   * Calls a path of the engine. Every call can be repeated. Rejects with `KeyVaultDenied` and `KeyVaultUnavailable`.
   * @param path below the engine, for example `keys/cl-1`
   */
  async call(method: 'GET' | 'POST', path: string, body?: Readonly<Record<string, unknown>>): Promise<TransitAnswer> {
    const limitMs = this.options.timeoutMs ?? TIMEOUT_MS
    try {
      return await withinTime((signal) => this.attempts(method, path, body, signal), limitMs)
    } catch (error) {
      throw this.failure(error)
    }
  }

  private failure(error: unknown): unknown {
    if (isKeyVaultError(error)) return error
    // `fetch` has its reason in the cause.
    const reason = error instanceof TypeError && error.cause !== undefined ? error.cause : error
    return keyVaultError('KeyVaultUnavailable', `${this.name} cannot be reached: ${sentenceOf(reason)}`, error)
  }

  private async attempts(
    method: string,
    path: string,
    body: Readonly<Record<string, unknown>> | undefined,
    signal: AbortSignal,
  ): Promise<TransitAnswer> {
    const firstMs = this.options.retryDelayMs ?? RETRY_DELAY_MS
    for (let failures = 1; ; failures += 1) {
      try {
        const answer = await this.attempt(method, path, body, signal)
        if (failures === ATTEMPTS || !TEMPORARY.has(answer.status)) return this.checked(answer)
      } catch (error) {
        if (failures === ATTEMPTS || signal.aborted || isKeyVaultError(error)) throw error
      }
      await sleep(backoffMs(failures, { firstMs, mostMs: MAX_RETRY_DELAY_MS }), signal)
      signal.throwIfAborted()
    }
  }

  private async attempt(
    method: string,
    path: string,
    body: Readonly<Record<string, unknown>> | undefined,
    signal: AbortSignal,
  ): Promise<TransitAnswer> {
    const token = await readToken()
    const namespace = this.options.namespace ?? process.env['VAULT_NAMESPACE']
    const response = await fetch(`${this.base}/${path}`, {
      method,
      headers: {
        'x-vault-request': 'true',
        ...(token === undefined ? {} : { 'x-vault-token': token }),
        ...(namespace === undefined || namespace === '' ? {} : { 'x-vault-namespace': namespace }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // A redirect would send the token to an address that is not configured.
      redirect: 'manual',
      signal,
    })
    const answer = parseAnswer(response.status, await readText(response))
    if (answer !== undefined) return answer
    if (TEMPORARY.has(response.status) || DENIED.has(response.status) || response.status < 200 || response.status > 299)
      return { status: response.status, data: undefined, errors: [] }
    throw keyVaultError('KeyVaultUnavailable', `${this.name} answered with a text that is no answer of Vault`)
  }

  private checked(answer: TransitAnswer): TransitAnswer {
    const { status, errors } = answer
    if ((status >= 200 && status < 300) || status === 400 || (status === 404 && errors.length === 0)) return answer
    throw this.unexpected(answer)
  }

  /** The failure for an answer that the caller cannot use. */
  unexpected({ status, errors }: TransitAnswer): LedgerError {
    const sentence = errors.join('; ').slice(0, MAX_SENTENCE)
    const detail = `${String(status)}${sentence === '' ? '' : ` (${sentence})`}`
    if (DENIED.has(status))
      return keyVaultError(
        'KeyVaultDenied',
        `${this.name} answered ${detail}: check the token in VAULT_TOKEN or ~/.vault-token, and its policy`,
      )
    if (status >= 300 && status < 400)
      return keyVaultError(
        'KeyVaultUnavailable',
        `${this.name} answered ${detail}: name the address of the active node`,
      )
    return keyVaultError('KeyVaultUnavailable', `${this.name} answered ${detail}`)
  }
}
