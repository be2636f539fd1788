/**
 * `serve`: the ledger over HTTP. A loopback address may run without keys. Any other address needs keys, and either TLS
 * or `--behind-tls-proxy`.
 */
import { LedgerError } from '../../../lib/ledger-error.js'
import type { X509Certificate } from 'node:crypto'
import { withoutPassword } from '../../../library/addresses.js'
import { sentenceOf } from '../../../ports/store-error.js'
import { text, toggle, type CliCommand } from '../command.js'
import type { CommandArgs } from '../command-args.js'
import { line, note, noteColours } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { portOf, unusableAddress } from '../port.js'
import { rulesOf } from '../config/rules.js'
import { proxyFlagsOf } from '../proxy-flags.js'
import { withLedger, type Session } from '../session.js'

const DEFAULT_PORT = 7411
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|localhost|::1)$/u

export const serve: CliCommand = {
  words: 'serve',
  describe: 'Serve the ledger over HTTP: the API, events, metrics and the page',
  uses: ['open', 'record', 'summarize', 'search', 'recall', 'price'],
  policy: true,
  options: {
    host: text('Address to listen on [default: 127.0.0.1]'),
    port: text(`Port to listen on; 0 picks a free port [default: ${String(DEFAULT_PORT)}]`),
    'tls-cert': text('PEM file with the certificate chain'),
    'tls-key': text('PEM file with the private key'),
    'behind-tls-proxy': text(
      'Name of the reverse proxy that terminates TLS, for example nginx; the service listens without TLS',
    ),
    'max-body': text('Maximum bytes of a request body [default: 16777216]'),
    rate: text('Requests per minute for one key, in each process [default: 60000]'),
    'request-timeout': text('Maximum seconds for a request [default: 60]'),
    'max-streams': text('Maximum number of open event streams [default: 2000]'),
    log: text(
      'Lines on standard error, one for each request, without content: text, json, or errors (only failures of the service) [default: text]',
      ['text', 'json', 'errors'],
    ),
    upstream: text(
      'API that requests under /proxy are forwarded to: https://api.anthropic.com, https://api.openai.com/v1',
    ),
    mode: text('With --upstream: observe forwards unchanged; compact sends the ledger’s context [default: observe]', [
      'observe',
      'compact',
    ]),
    fail: text(
      'With --upstream, for requests that cannot be recorded: open forwards them, closed rejects them [default: open]',
      ['open', 'closed'],
    ),
    recall: toggle('With --upstream: after a compaction by the agent, add a note of what its context lost'),
    'offer-memory': toggle(
      'With --upstream and --mode compact: offer the memory_read tool to the model; the service answers its calls',
    ),
  },
  examples: [
    ['$0 serve', `this machine only, http://127.0.0.1:${String(DEFAULT_PORT)}; Ctrl+C stops it`],
    ['$0 serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem', 'other machines; run `keys create` first'],
  ],
  async run(args) {
    const settings = await settingsOf(args)
    const needs = { creates: true, writes: true, searches: true, prices: true } as const
    await withLedger(args.flags, needs, (session) => serveLedger(session, settings, args.json))
  },
}

interface ServeSettings {
  readonly host: string
  readonly port: number
  /** Whether only this machine can reach the address. */
  readonly isLocal: boolean
  /** The name of the reverse proxy that terminates TLS. */
  readonly tlsProxy: string | undefined
  readonly tls: Awaited<ReturnType<typeof tlsOf>>
  readonly limits: ReturnType<typeof limitsOf>
  readonly proxyFlags: ReturnType<typeof proxyFlagsOf>
  readonly log: string
}

async function settingsOf(args: CommandArgs): Promise<ServeSettings> {
  const host = args.text('host') ?? '127.0.0.1'
  if (host.trim() === '') throw new LedgerError('Usage', '--host is empty')
  const port = portOf(args) ?? DEFAULT_PORT
  const tlsProxy = args.text('behind-tls-proxy')
  if (tlsProxy?.trim() === '') throw new LedgerError('Usage', '--behind-tls-proxy needs the name of the proxy')
  const limits = limitsOf(args)
  const proxyFlags = proxyFlagsOf(args)
  const tls = await tlsOf(args)
  if (tls !== undefined && tlsProxy !== undefined)
    throw new LedgerError('Usage', '--behind-tls-proxy cannot be combined with --tls-cert')
  const isLocal = LOOPBACK.test(host)
  if (!isLocal && tls === undefined && tlsProxy === undefined)
    throw new LedgerError(
      'NoTls',
      `${host} is reachable from other machines, and keys would be sent unencrypted: pass --tls-cert and --tls-key, or --behind-tls-proxy NAME if a reverse proxy terminates TLS`,
    )
  return { host, port, isLocal, tlsProxy, tls, limits, proxyFlags, log: args.text('log') ?? 'text' }
}

/** Reads the pepper, and throws if the ledger's keys need one that is missing, or the address needs keys. */
async function readKeys(
  { stores, config }: Session,
  { host, isLocal }: ServeSettings,
): Promise<{ readonly hasKeys: boolean; readonly pepper: string | undefined }> {
  const { readPepper } = await import('../config/pepper.js')
  const hasKeys = await stores.keys.hasAny()
  const pepper = await readPepper(config)
  if (hasKeys && pepper === undefined)
    throw new LedgerError(
      'NoPepper',
      'the ledger has keys, but the pepper that checks them is missing: set CONTEXT_LEDGER_PEPPER, or restore the pepper file next to the store',
    )
  if (!hasKeys && !isLocal)
    throw new LedgerError(
      'NoKeys',
      `${host} is reachable from other machines, and the ledger has no keys: create one with \`context-ledger keys create\``,
    )
  return { hasKeys, pepper }
}

/** The page as a handler of requests. */
async function createPage({ ledger, config }: Session): Promise<(request: Request) => Response | Promise<Response>> {
  const [{ createApp }, { withHeaders }] = await Promise.all([
    import('../../page/app.js'),
    import('../../page/security.js'),
  ])
  const page = createApp({
    ledger,
    name: withoutPassword(config.store),
    now: () => new Date(),
    guard: withHeaders,
  })
  return (request) => page.fetch(request)
}

/** Serves the ledger until a signal ends the process. */
async function serveLedger(session: Session, settings: ServeSettings, isJson: boolean): Promise<void> {
  const { ledger, stores, config } = session
  const { host, port, isLocal, tlsProxy, tls, limits, proxyFlags, log } = settings
  const { hasKeys, pepper } = await readKeys(session, settings)
  const [{ startService }, { endSignals }, { packageVersion }, { requestLog }, { mcpMount, proxyMount }] =
    await Promise.all([
      import('../../service/server.js'),
      import('../end-signals.js'),
      import('../../../lib/package-root.js'),
      import('../request-log.js'),
      import('../service-mounts.js'),
    ])
  const page = await createPage(session)
  const { onProblem, onAnswer } = requestLog(log)
  const mounted = [mcpMount(ledger, packageVersion(), onProblem)]
  const { policy } = config
  if (proxyFlags !== undefined)
    mounted.push(
      proxyMount({
        ...proxyFlags,
        rules: await rulesOf(config),
        ledger,
        onProblem,
        ...(policy === undefined ? {} : { policy }),
      }),
    )
  const ended = endSignals()
  try {
    const server = await startService({
      ledger,
      stores,
      pepper,
      limits,
      page,
      version: packageVersion(),
      host,
      port,
      ...(tls === undefined ? {} : { tls }),
      mayBeOpen: isLocal,
      onProblem,
      ...(onAnswer === undefined ? {} : { onAnswer }),
      mounts: mounted.map(({ mount }) => mount),
    }).catch((error: unknown) => {
      throw unusableAddress(error, `cannot listen on ${host}, port ${String(port)}`, '--host and --port')
    })
    try {
      await line(isJson ? toWire({ url: server.url, keys: hasKeys }) : server.url)
      note(
        hasKeys
          ? `requests need a key${tlsProxy === undefined ? '' : `; ${tlsProxy} terminates TLS`}; press Ctrl+C to stop`
          : 'no keys, reachable from this machine only; press Ctrl+C to stop',
      )
      await ended.signalled
      note('shutting down after open requests finish; press Ctrl+C again to stop now')
    } finally {
      await server.close()
      await Promise.all(mounted.map((each) => each.close()))
    }
  } finally {
    ended.forget()
  }
}

function limitsOf(args: CommandArgs): Readonly<Record<string, number>> {
  const body = args.atLeastOne('max-body')
  const rate = args.atLeastOne('rate')
  const seconds = args.positive('request-timeout')
  const streams = args.atLeastOne('max-streams')
  // Timers have 32 bits: a longer one fires immediately.
  if (seconds !== undefined && seconds > 86_400)
    throw new LedgerError('Usage', '--request-timeout must be at most 86400 seconds (one day)')
  return {
    ...(body === undefined ? {} : { bodyBytes: body }),
    ...(rate === undefined ? {} : { requestsPerMinute: rate }),
    ...(seconds === undefined ? {} : { requestMs: Math.max(1, Math.round(seconds * 1_000)) }),
    ...(streams === undefined ? {} : { streams }),
  }
}

async function tlsOf(args: CommandArgs): Promise<{ readonly cert: string; readonly key: string } | undefined> {
  const certFile = args.text('tls-cert')
  const keyFile = args.text('tls-key')
  if (certFile === undefined && keyFile === undefined) return undefined
  if (certFile === undefined) throw new LedgerError('Usage', '--tls-key requires --tls-cert')
  if (keyFile === undefined) throw new LedgerError('Usage', '--tls-cert requires --tls-key')
  const cert = await pem('--tls-cert', certFile)
  const key = await pem('--tls-key', keyFile)
  const [{ createSecureContext }, { createPrivateKey, X509Certificate }] = await Promise.all([
    import('node:tls'),
    import('node:crypto'),
  ])
  // OpenSSL's message names its own routines, not the file or the problem.
  const read = <T>(what: string, make: () => T): T => {
    try {
      return make()
    } catch {
      throw new LedgerError('BadCertificate', what)
    }
  }
  const certificate = read(`--tls-cert ${certFile} is not a PEM certificate`, () => new X509Certificate(cert))
  const secret = read(`--tls-key ${keyFile} is not a PEM private key, or has a passphrase`, () => createPrivateKey(key))
  if (!certificate.checkPrivateKey(secret))
    throw new LedgerError('BadCertificate', `--tls-key ${keyFile} is not the key of --tls-cert ${certFile}`)
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw new LedgerError(
      'BadCertificate',
      `--tls-cert ${certFile} and --tls-key ${keyFile} cannot be used: ${sentenceOf(error)}`,
    )
  }
  // The file may contain the whole chain; check the validity of each certificate.
  const all = (cert.match(/-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/gsu) ?? []).map((one) =>
    read(`--tls-cert ${certFile} contains a certificate that cannot be read`, () => new X509Certificate(one)),
  )
  for (const one of all) {
    const wrong = validityProblem(one, new Date())
    if (wrong !== undefined) note(`${noteColours.yellow('warning:')} --tls-cert ${certFile}: ${wrong}`)
  }
  return { cert, key }
}

/** Why clients reject the certificate at this time: expired or not yet valid. Undefined if it is valid. */
function validityProblem(certificate: X509Certificate, now: Date): string | undefined {
  const { validFrom, validTo, serialNumber } = certificate
  // Node returns undefined for a missing subject, contrary to its types.
  const names: readonly (string | undefined)[] = [certificate.subject, certificate.subjectAltName]
  const name = names.find((each) => each !== undefined && each !== '') ?? `serial number ${serialNumber}`
  const [from, to] = [new Date(validFrom), new Date(validTo)]
  const label = `the certificate of ${name.replaceAll('\n', ', ')}`
  if (to < now) return `${label} expired at ${to.toISOString()}; clients that check it refuse to connect`
  return from > now
    ? `${label} is not valid before ${from.toISOString()} (it is now ${now.toISOString()}); clients that check it refuse to connect until then`
    : undefined
}

async function pem(flag: string, file: string): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new LedgerError('FileUnusable', `${flag} ${file} cannot be read: ${sentenceOf(error)}`)
  }
}
