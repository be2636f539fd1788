/**
 * `serve`: the ledger over HTTP. On this machine alone it may run without keys; elsewhere it takes keys, and TLS or the
 * word of its operator that somebody ends it.
 */
import type { X509Certificate } from 'node:crypto'
import { withoutPassword } from '../../library/addresses.js'
import { codeOf, sentenceOf } from '../../ports/store-error.js'
import { text, toggle, type Command } from '../command.js'
import { InputError } from '../errors.js'
import type { Given } from '../given.js'
import { line, note, noteColours, toJson } from '../output.js'
import { portOf } from '../port.js'
import { proxiedOf } from '../proxied.js'
import { withLedger } from '../session.js'

const USUAL_PORT = 7411
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|localhost|::1)$/u

export const serve: Command = {
  words: 'serve',
  describe: 'Serve the ledger over HTTP: the API, events, metrics and the page',
  policy: true,
  options: {
    host: text('Address to listen on [default: 127.0.0.1]'),
    port: text(`Port to listen on; 0 takes any that is free [default: ${String(USUAL_PORT)}]`),
    'tls-cert': text('PEM file with the certificate, and those that it hangs on'),
    'tls-key': text('PEM file with its key'),
    'behind-tls-proxy': text('Who ends TLS in front of it, for instance nginx: it listens without'),
    'max-body': text('Bytes that a body may have [default: 16777216]'),
    rate: text('Requests a minute of one key, in each process [default: 60000]'),
    'request-timeout': text('Seconds that a request may take [default: 60]'),
    'max-streams': text('Event streams that may be open at once [default: 2000]'),
    upstream: text('API to pass requests below /proxy on to: https://api.anthropic.com, https://api.openai.com/v1'),
    mode: text('With --upstream: observe changes nothing; compact sends the ledger’s context [default: observe]', [
      'observe',
      'compact',
    ]),
    fail: text('With --upstream: requests that cannot be recorded pass, or are refused [default: open]', [
      'open',
      'closed',
    ]),
    'offer-memory': toggle('With --upstream and --mode compact: offers memory_read to the model, and answers it here'),
  },
  examples: [
    ['$0 serve', `on this machine alone, http://127.0.0.1:${String(USUAL_PORT)}; Ctrl+C ends it`],
    ['$0 serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem', 'for others, once `keys create` made a key'],
  ],
  async run(given) {
    const host = given.text('host') ?? '127.0.0.1'
    if (host.trim() === '') throw new InputError('Usage', '--host is empty')
    const port = portOf(given) ?? USUAL_PORT
    const proxy = given.text('behind-tls-proxy')
    if (proxy?.trim() === '') throw new InputError('Usage', '--behind-tls-proxy names nobody')
    const limits = limitsOf(given)
    const proxied = proxiedOf(given)
    const tls = await tlsOf(given)
    if (tls !== undefined && proxy !== undefined)
      throw new InputError('Usage', '--behind-tls-proxy goes without --tls-cert: one of them ends TLS')
    const isLocal = LOOPBACK.test(host)
    if (!isLocal && tls === undefined && proxy === undefined)
      throw new InputError(
        'NoTls',
        `${host} is reached from other machines, and keys would go over the wire as they are: give --tls-cert and --tls-key, or --behind-tls-proxy WHO where somebody ends TLS in front of it`,
      )
    const [
      { pepperOf },
      { startService },
      { createApp },
      { withHeaders },
      { describeEvent },
      { contextNotes },
      { endSignals },
      { version },
      { sentenceOfProblem },
      { mcpMount, proxyMount },
    ] = await Promise.all([
      import('../config/pepper.js'),
      import('../../service/server.js'),
      import('../../page/app.js'),
      import('../../page/security.js'),
      import('../reports/describe-event.js'),
      import('../reports/context.js'),
      import('../end-signals.js'),
      import('../version.js'),
      import('../../library/problem.js'),
      import('../service-mounts.js'),
    ])
    const needs = { creates: true, writes: true, searches: true } as const
    await withLedger(given.flags, needs, async ({ ledger, stores, config }) => {
      const hasKeys = await stores.keys.hasAny()
      const pepper = await pepperOf(config)
      if (hasKeys && pepper === undefined)
        throw new InputError(
          'NoPepper',
          'there are keys, and nothing to check them with: CONTEXT_LEDGER_PEPPER, or the file beside the folder, that `keys create` went by',
        )
      if (!hasKeys && !isLocal)
        throw new InputError(
          'NoKeys',
          `${host} is reached from other machines, and there is no key: \`context-ledger keys create\` makes one`,
        )
      const page = createApp({
        ledger,
        name: withoutPassword(config.store),
        words: { describeEvent, contextNotes },
        now: () => new Date(),
        guard: withHeaders,
      })
      const onProblem = (problem: unknown, requestId?: string): void => {
        note(
          `${noteColours.yellow('warning:')} ${requestId === undefined ? '' : `request ${requestId}: `}${sentenceOfProblem(problem)}`,
        )
      }
      const mounted = [
        mcpMount(ledger, version(), onProblem),
        ...(proxied === undefined
          ? []
          : [
              proxyMount({
                ...proxied,
                ledger,
                onProblem,
                ...(config.policy === undefined ? {} : { policy: config.policy }),
              }),
            ]),
      ]
      const ended = endSignals()
      try {
        const served = await startService({
          ledger,
          stores,
          pepper,
          limits,
          page: (request) => page.fetch(request),
          version: version(),
          host,
          port,
          ...(tls === undefined ? {} : { tls }),
          mayBeOpen: isLocal,
          onProblem,
          mounts: mounted.map(({ mount }) => mount),
        }).catch((error: unknown) => {
          throw unusable(error, host, port)
        })
        try {
          await line(given.json ? toJson({ url: served.url, keys: hasKeys }) : served.url)
          note(
            hasKeys
              ? `a key is needed${proxy === undefined ? '' : `; ${proxy} ends TLS`}; Ctrl+C ends it`
              : 'without keys, for this machine alone; Ctrl+C ends it',
          )
          await ended.signalled
          note('shutting down: what is under way comes to its end; Ctrl+C again ends it at once')
        } finally {
          await served.close()
          await Promise.all(mounted.map((each) => each.close()))
        }
      } finally {
        ended.forget()
      }
    })
  },
}

function limitsOf(given: Given): Readonly<Record<string, number>> {
  const body = given.atLeastOne('max-body')
  const rate = given.atLeastOne('rate')
  const seconds = given.positive('request-timeout')
  const streams = given.atLeastOne('max-streams')
  // A timer counts in 32 bits; a longer one fires at once.
  if (seconds !== undefined && seconds > 86_400)
    throw new InputError('Usage', '--request-timeout must be at most 86400 seconds, a day')
  return {
    ...(body === undefined ? {} : { bodyBytes: body }),
    ...(rate === undefined ? {} : { requestsPerMinute: rate }),
    ...(seconds === undefined ? {} : { requestMs: Math.max(1, Math.round(seconds * 1_000)) }),
    ...(streams === undefined ? {} : { streams }),
  }
}

async function tlsOf(given: Given): Promise<{ readonly cert: string; readonly key: string } | undefined> {
  const certFile = given.text('tls-cert')
  const keyFile = given.text('tls-key')
  if (certFile === undefined && keyFile === undefined) return undefined
  if (certFile === undefined) throw new InputError('Usage', '--tls-key goes with --tls-cert')
  if (keyFile === undefined) throw new InputError('Usage', '--tls-cert goes with --tls-key')
  const cert = await pem('--tls-cert', certFile)
  const key = await pem('--tls-key', keyFile)
  const [{ createSecureContext }, { createPrivateKey, X509Certificate }] = await Promise.all([
    import('node:tls'),
    import('node:crypto'),
  ])
  // What OpenSSL says of a file of another kind names its own routines, and neither the file nor what is wrong.
  const read = <T>(what: string, make: () => T): T => {
    try {
      return make()
    } catch {
      throw new InputError('BadCertificate', what)
    }
  }
  const certificate = read(`--tls-cert ${certFile} is no certificate in PEM`, () => new X509Certificate(cert))
  const secret = read(`--tls-key ${keyFile} is no private key in PEM, or is locked by a passphrase`, () =>
    createPrivateKey(key),
  )
  if (!certificate.checkPrivateKey(secret))
    throw new InputError('BadCertificate', `--tls-key ${keyFile} is not the key of --tls-cert ${certFile}`)
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw new InputError(
      'BadCertificate',
      `--tls-cert ${certFile} and --tls-key ${keyFile} cannot be used: ${sentenceOf(error)}`,
    )
  }
  // The file may hold those that it hangs on, too, and each of them has a time.
  const all = (cert.match(/-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/gsu) ?? []).map((one) =>
    read(`--tls-cert ${certFile} holds a certificate that cannot be read`, () => new X509Certificate(one)),
  )
  for (const one of all) {
    const wrong = whyNobodyTrusts(one, new Date())
    if (wrong !== undefined) note(`${noteColours.yellow('warning:')} --tls-cert ${certFile}: ${wrong}`)
  }
  return { cert, key }
}

/** Why every client that looks refuses a certificate at this time; undefined where its time is no reason. */
function whyNobodyTrusts(certificate: X509Certificate, now: Date): string | undefined {
  const { validFrom, validTo, serialNumber } = certificate
  // Of a certificate without a subject Node has none, whatever its types say.
  const names: readonly (string | undefined)[] = [certificate.subject, certificate.subjectAltName]
  const name = names.find((each) => each !== undefined && each !== '') ?? `serial number ${serialNumber}`
  const [from, to] = [new Date(validFrom), new Date(validTo)]
  const of = `the certificate of ${name.replaceAll('\n', ', ')}`
  if (to < now) return `${of} expired at ${to.toISOString()}; clients that check it refuse to connect`
  return from > now
    ? `${of} is not valid before ${from.toISOString()}, and it is ${now.toISOString()} here; clients that check it refuse to connect until then`
    : undefined
}

async function pem(flag: string, file: string): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new InputError('FileUnusable', `${flag} ${file} cannot be read: ${sentenceOf(error)}`)
  }
}

/** Why it cannot listen there. */
function unusable(error: unknown, host: string, port: number): unknown {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'another program listens there',
    EACCES: 'this user may not listen there',
    EADDRNOTAVAIL: 'this machine has no such address',
    ENOTFOUND: 'there is no such address',
    EAI_AGAIN: 'there is no such address',
    EINVAL: 'this is no address',
  }
  const reason = reasons[codeOf(error) ?? '']
  return reason === undefined
    ? error
    : new InputError(
        'PortUnusable',
        `cannot serve at ${host}, port ${String(port)}: ${reason}; --host and --port name another`,
      )
}
