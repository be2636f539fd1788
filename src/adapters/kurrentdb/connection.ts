/**
 * Parses the address of a KurrentDB in the usual form and creates its client.
 *
 * The client's own parser is not used: it prints unknown parameters and the password on the console, does not accept
 * `kurrentdb://`, and cannot disable the check of a certificate.
 */
import {
  connectivityState,
  credentials as channelCredentials,
  type ChannelCredentials,
  type Client,
  type ClientReadableStream,
} from '@grpc/grpc-js'
import { convertToCommandError, ErrorType, EventStoreDBClient, UnavailableError } from '@eventstore/db-client'
import type {
  ChannelCredentialOptions,
  Credentials,
  DNSClusterOptions,
  EndPoint,
  GossipClusterOptions,
  SingleNodeOptions,
} from '@eventstore/db-client'
import { StreamsClient, StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { checkServerIdentity, type ConnectionOptions } from 'node:tls'
import { sleep } from '../../ports/clock.js'
import { sentenceOf, storeError, isStoreError } from '../../ports/store-error.js'
import {
  type AppendOutcome,
  encodeAppend,
  encodeRead,
  type EventToSend,
  outcomeOf,
  type ReadRequest,
  type Received,
  receivedFrom,
} from './wire.js'

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>
type Channel = ReturnType<Client['getChannel']>
type NodePreference = NonNullable<GossipClusterOptions['nodePreference']>

export interface KurrentDbAddress {
  /** The address for messages: scheme, user and hosts, without the password. */
  readonly name: string
  readonly discover: boolean
  readonly hosts: readonly EndPoint[]
  readonly credentials: Credentials | undefined
  readonly tls: boolean
  readonly tlsVerifyCert: boolean
  readonly tlsCaFile: string | undefined
  readonly userCertFile: string | undefined
  readonly userKeyFile: string | undefined
  readonly connectionName: string
  readonly keepAliveInterval: number
  readonly keepAliveTimeout: number
  readonly defaultDeadline: number | undefined
  readonly nodePreference: NodePreference | undefined
  readonly discoveryInterval: number | undefined
  readonly gossipTimeout: number | undefined
  readonly maxDiscoverAttempts: number | undefined
}

const SCHEMES: ReadonlySet<string> = new Set(['esdb', 'kurrentdb', 'kdb'])
const DEFAULT_PORT = 2113
// Only missing pings reveal a server that is suspended or whose machine is down: after 19 s with the client's defaults,
// after 5.3 s with these.
const KEEP_ALIVE_MS = 3_000
// Time limit for one node to name the leader. With the client's 5 s, two silent nodes use up the time of an append.
const GOSSIP_SECONDS = 2
const DISCOVER_ATTEMPTS = 10
// How long a node that left a call unanswered is avoided. A cluster elects another leader in 2 to 5 s, and the call that
// was not answered has waited for most of that. If there is no election, the node was only slow.
const AVOID_MS = 3_000
const DISCOVERY_PAUSE_MS = 100
const LONGEST_TIMER_MS = 2 ** 31 - 1

const ADDRESS_EXAMPLES =
  'an address looks like kurrentdb://user:password@host:2113?tls=true or kurrentdb+discover://host1:2113,host2:2113'

const refuse = (detail: string): never => {
  throw storeError('StoreRefused', detail)
}

/** Names are compared without case, `_` and `-`, like in the client. */
const flat = (name: string): string => name.toLowerCase().replaceAll(/[_-]/gu, '')

type Read = (text: string, name: string) => string | number | boolean
const flag: Read = (text, name) =>
  text === 'true' || text === 'false' ? text === 'true' : refuse(`${name} must be true or false`)
const whole =
  (minimum: number): Read =>
  (text, name) => {
    const number = Number(text)
    return /^-?\d+$/u.test(text) && number >= minimum
      ? number
      : refuse(`${name} must be a whole number of at least ${String(minimum)}`)
  }
const oneOf =
  (...choices: readonly string[]): Read =>
  (text, name) =>
    choices.find((choice) => flat(choice) === flat(text)) ?? refuse(`${name} must be one of ${choices.join(', ')}`)
const asText: Read = (text) => text

const PARAMETERS = {
  tls: flag,
  tlsVerifyCert: flag,
  tlsCaFile: asText,
  userCertFile: asText,
  userKeyFile: asText,
  connectionName: asText,
  keepAliveInterval: whole(-1),
  keepAliveTimeout: whole(-1),
  defaultDeadline: whole(1),
  nodePreference: oneOf('leader', 'follower', 'read_only_replica', 'random'),
  discoveryInterval: whole(0),
  gossipTimeout: whole(1),
  maxDiscoverAttempts: whole(1),
  // Accepted and ignored: it sets how the client reports a refused append, and the only caller is this adapter.
  throwOnAppendFailure: flag,
} as const

type ParameterName = keyof typeof PARAMETERS
const parameterNames = new Map(Object.keys(PARAMETERS).map((name) => [flat(name), name]))
const isParameter = (name: string | undefined): name is ParameterName => name !== undefined && name in PARAMETERS

function decoded(text: string, part: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return refuse(`${part} in the address has a % that is not followed by two hexadecimal digits (write % as %25)`)
  }
}

function parseHost(text: string): EndPoint {
  const match = /^(\[[\da-f:.]+\]|[^\s:@[\]]+)(?::(\d{1,5}))?$/iu.exec(text.trim())
  if (match?.[1] === undefined)
    return refuse(`${JSON.stringify(text)} in the address is not a valid host:port; ${ADDRESS_EXAMPLES}`)
  const port = match[2] === undefined ? DEFAULT_PORT : Number(match[2])
  return port >= 1 && port <= 65_535
    ? { address: match[1], port }
    : refuse(`${String(port)} in the address is not a valid port`)
}

function parseParameters(query: string): ReadonlyMap<ParameterName, string | number | boolean> {
  const parameters = new Map<ParameterName, string | number | boolean>()
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const cut = pair.indexOf('=')
    const parameter = decoded(cut < 0 ? pair : pair.slice(0, cut), 'a parameter').trim()
    const name = parameterNames.get(flat(parameter))
    if (!isParameter(name) && query.includes('@'))
      return refuse(
        'the address has an @ after its ? and an unknown parameter; write a ? in the user or the password as %3F',
      )
    if (!isParameter(name))
      return refuse(
        `the address has an unknown parameter ${JSON.stringify(parameter)}; known are ${Object.keys(PARAMETERS).join(', ')}`,
      )
    const value = cut < 0 ? '' : decoded(pair.slice(cut + 1), name).trim()
    if (value === '') return refuse(`${name} in the address has no value`)
    parameters.set(name, PARAMETERS[name](value, name))
  }
  return parameters
}

/** Parses an address; throws a `LedgerError` that names the problem and never contains the password. */
export function parseAddress(address: string): KurrentDbAddress {
  const [, scheme = '', discover, rest = ''] = /^([a-z]+)(\+discover)?:\/\/(.*)$/isu.exec(address.trim()) ?? []
  if (!SCHEMES.has(scheme.toLowerCase()))
    return refuse(`the address of the store is not a KurrentDB address; ${ADDRESS_EXAMPLES}`)
  const queryAt = rest.indexOf('?')
  const query = queryAt < 0 ? '' : rest.slice(queryAt + 1)
  // Parsed before the hosts: if a password contains a bare ?, the text on both sides of it is secret, and no message
  // may contain it.
  const parameters = parseParameters(query)
  const authority = (queryAt < 0 ? rest : rest.slice(0, queryAt)).replace(/\/+$/u, '')
  const hostsAt = authority.lastIndexOf('@') + 1
  const hostList = authority.slice(hostsAt)
  if (hostList.trim() === '') return refuse(`the address of the store names no host; ${ADDRESS_EXAMPLES}`)
  const credentials = hostsAt === 0 ? undefined : parseCredentials(authority.slice(0, hostsAt - 1))
  const hosts = hostList.split(',').map(parseHost)
  const text = (name: ParameterName): string | undefined =>
    parameters.has(name) ? String(parameters.get(name)) : undefined
  const number = (name: ParameterName): number | undefined =>
    parameters.has(name) ? Number(parameters.get(name)) : undefined
  const preference = text('nodePreference')
  return {
    name: `${scheme.toLowerCase()}${(discover ?? '').toLowerCase()}://${credentials === undefined ? '' : `${encodeURIComponent(credentials.username)}@`}${hosts.map(targetOf).join(',')}`,
    discover: discover !== undefined,
    hosts,
    credentials,
    tls: parameters.get('tls') !== false,
    tlsVerifyCert: parameters.get('tlsVerifyCert') !== false,
    tlsCaFile: text('tlsCaFile'),
    userCertFile: text('userCertFile'),
    userKeyFile: text('userKeyFile'),
    connectionName: text('connectionName') ?? 'context-ledger',
    keepAliveInterval: number('keepAliveInterval') ?? KEEP_ALIVE_MS,
    keepAliveTimeout: number('keepAliveTimeout') ?? KEEP_ALIVE_MS,
    defaultDeadline: number('defaultDeadline'),
    nodePreference: isPreference(preference) ? preference : undefined,
    discoveryInterval: number('discoveryInterval'),
    gossipTimeout: number('gossipTimeout'),
    maxDiscoverAttempts: number('maxDiscoverAttempts'),
  }
}

const isPreference = (text: string | undefined): text is NodePreference =>
  text !== undefined && ['leader', 'follower', 'read_only_replica', 'random'].includes(text)
const targetOf = ({ address, port }: EndPoint): string => `${address}:${String(port)}`

function parseCredentials(text: string): Credentials {
  const cut = text.indexOf(':')
  if (cut < 1 || cut === text.length - 1)
    return refuse('the address of the store has an @ without user:password before it')
  return { username: decoded(text.slice(0, cut), 'the user'), password: decoded(text.slice(cut + 1), 'the password') }
}

/** The certificates of a file. Without this check, a file without a certificate is ignored, and no server is trusted. */
function certificatesOf(name: string, path: string): Buffer {
  const content = contentOf(name, path)
  const found = content.toString('latin1').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/gu) ?? []
  if (found.length === 0) return refuse(`the file of ${name} contains no certificate (PEM)`)
  try {
    for (const certificate of found) void new X509Certificate(certificate).subject
  } catch (error) {
    return refuse(`the file of ${name} contains a damaged certificate: ${sentenceOf(error)}`)
  }
  return content
}

function contentOf(name: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    return refuse(`cannot read the file of ${name}: ${sentenceOf(error)}`)
  }
}

function channelCredentialsOf(address: KurrentDbAddress): ChannelCredentialOptions {
  const { tls, tlsVerifyCert, tlsCaFile, userCertFile, userKeyFile } = address
  if (!tls) return { insecure: true }
  if ((userCertFile === undefined) !== (userKeyFile === undefined))
    return refuse('userCertFile and userKeyFile must be set together')
  return {
    insecure: false,
    ...(tlsCaFile === undefined ? {} : { rootCertificate: certificatesOf('tlsCaFile', tlsCaFile) }),
    ...(userCertFile === undefined ? {} : { userCertFile: certificatesOf('userCertFile', userCertFile) }),
    ...(userKeyFile === undefined ? {} : { userKeyFile: contentOf('userKeyFile', userKeyFile) }),
    ...(tlsVerifyCert ? {} : { verifyOptions: { rejectUnauthorized: false, checkServerIdentity: () => undefined } }),
  }
}

/** -1 means never. The client turns it into a time that is too long for a timer, which Node replaces by 1 ms. */
const timerOf = (ms: number): number => (ms < 0 ? LONGEST_TIMER_MS : ms)

function settingsOf(address: KurrentDbAddress): DNSClusterOptions | GossipClusterOptions | SingleNodeOptions {
  const {
    hosts,
    discover,
    connectionName,
    keepAliveInterval,
    keepAliveTimeout,
    nodePreference,
    discoveryInterval,
    gossipTimeout,
  } = address
  const common = {
    connectionName,
    keepAliveInterval: timerOf(keepAliveInterval),
    keepAliveTimeout: timerOf(keepAliveTimeout),
    throwOnAppendFailure: true,
  }
  const cluster = {
    ...common,
    ...(nodePreference === undefined ? {} : { nodePreference }),
    ...(discoveryInterval === undefined ? {} : { discoveryInterval }),
    gossipTimeout: gossipTimeout ?? GOSSIP_SECONDS,
    // The client's own attempts would continue after `dispose` and keep the process alive; `LedgerClient` counts them.
    maxDiscoverAttempts: 1,
  }
  const [first] = hosts
  if (first === undefined) return refuse('the address of the store names no host')
  // The client's discovery uses only one seed and never recovers if that node dies. With several hosts it uses the same
  // gossip protocol.
  if (hosts.length > 1) return { ...cluster, endpoints: [...hosts] }
  return discover ? { ...cluster, discover: first } : { ...common, endpoint: first }
}

/** Whether calls require the cluster's leader, so that a read returns every acknowledged append: a follower may lag. */
export const wantsLeader = ({ hosts, discover, nodePreference }: KurrentDbAddress): boolean =>
  (discover || hosts.length > 1) && (nodePreference === undefined || nodePreference === 'leader')

/** Whether a call had no answer within its deadline. */
function isUnanswered(error: Error): boolean {
  const failure = convertToCommandError(error)
  return 'type' in failure && failure.type === ErrorType.DEADLINE_EXCEEDED
}

/** The client, without its behaviours that could end the process or leave a promise pending forever. */
export class LedgerClient extends EventStoreDBClient {
  private channel: Channel | undefined
  private isShut = false
  /** The node that left a call unanswered last, and until when the client prefers another one. */
  private silent: { readonly target: string; readonly until: number } | undefined
  readonly isCluster: boolean
  /** The nodes that the client asks for the leader. It has the same list. */
  private readonly seeds: EndPoint[] | undefined
  private readonly allSeeds: readonly EndPoint[]
  /** Closes this connection, if it is the current one, so that the next call looks for a node. */
  private readonly reconnect: (channel: Channel) => Promise<void>

  constructor(
    settings: DNSClusterOptions | GossipClusterOptions | SingleNodeOptions,
    channelOptions: ChannelCredentialOptions,
    credentials: Credentials | undefined,
    discoverAttempts: number,
  ) {
    // The constructor has three overloads, and none accepts their union.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
    super(settings as SingleNodeOptions, channelOptions, credentials)
    this.isCluster = !('endpoint' in settings)
    this.seeds = 'endpoints' in settings ? settings.endpoints : undefined
    this.allSeeds = [...(this.seeds ?? [])]
    const { execute, handleError, getChannel } = this
    this.reconnect = async (channel) => {
      // Asks for the channel only.
      const failed: Pick<Client, 'getChannel'> = { getChannel: () => channel }
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
      await handleError(failed as Client, new UnavailableError())
    }

    // If the channel was closed after the call began, an async executor of the client throws: the error is unhandled,
    // and the append never settles.
    this.execute = async (service, name, action) =>
      await execute(service, name, async (client) => {
        if (client.getChannel().getConnectivityState(false) === connectivityState.SHUTDOWN)
          throw new Error('the connection was closed before the call began')
        return await action(client)
      })

    // The client does not await this function, and it rejects while no node of a cluster answers.
    this.handleError = async (client, error) => {
      try {
        if (isUnanswered(error)) await this.leave(client.getChannel())
        else await handleError(client, error)
      } catch {
        // The call itself reports the failure; the next call reconnects.
      }
    }

    // `dispose` ends the calls but leaves the connection open and continues to look for a node.
    this.getChannel = async () => {
      for (let attempt = 1; ; attempt++) {
        try {
          if (this.silent !== undefined) this.orderSeeds()
          const channel = await getChannel()
          this.channel = channel
          if (this.isShut) channel.close()
          if (this.isShut || !this.isAvoided(channel)) return channel
          // Until they have elected another leader, the other nodes name the silent one.
          await this.reconnect(channel)
          attempt = 0
          await sleep(DISCOVERY_PAUSE_MS)
        } catch (error) {
          if (this.isShut || attempt >= discoverAttempts) throw error
        }
      }
    }
  }

  /**
   * Appends go unary, whether or not the call carries credentials; `docs/decisions/0008-kurrentdb-appends.md` says why.
   */
  protected override supports = async (): Promise<boolean> => false

  /** Starts a read; the responses arrive until the read ends or the call is cancelled. */
  async openRead(
    request: ReadRequest,
    options: { readonly requiresLeader?: boolean },
  ): Promise<ClientReadableStream<Received>> {
    const { path, requestSerialize } = StreamsService.read
    const call = this.GRPCStreamCreator(StreamsClient, 'read', (client) =>
      client.makeServerStreamRequest(
        path,
        requestSerialize,
        receivedFrom,
        encodeRead(request),
        ...this.callArguments(options, { deadline: Infinity }),
      ),
    )
    return await call()
  }

  /**
   * Appends events directly after the revision `after` (-1: as the first ones), in one call with a deadline. Faster than
   * the client's own method, which creates objects and base64 from the texts and queues each event separately.
   */
  async append(
    stream: string,
    after: number,
    events: readonly EventToSend[],
    options: { readonly requiresLeader?: boolean; readonly deadline: number },
  ): Promise<AppendOutcome> {
    const { path, requestSerialize, responseDeserialize } = StreamsService.append
    return await this.execute(
      StreamsClient,
      'append',
      (client) =>
        new Promise<AppendOutcome>((resolve, reject) => {
          const failed = (error: Error): void => {
            reject(convertToCommandError(error))
          }
          const call = client.makeClientStreamRequest(
            path,
            requestSerialize,
            responseDeserialize,
            ...this.callArguments(options),
            (error, answer) => {
              if (error !== null) failed(error)
              else if (answer === undefined) reject(new Error('the server acknowledged an append without an answer'))
              else {
                try {
                  resolve(outcomeOf(answer))
                } catch (failure) {
                  reject(failure)
                }
              }
            },
          )
          call.on('error', failed)
          for (const message of encodeAppend(stream, after, events)) call.write(message)
          call.end()
        }),
    )
  }

  /** Identifies the node that calls go to now: the value changes when the client reconnects. */
  node(): Channel | undefined {
    return this.channel
  }

  /**
   * Makes the next calls go to another node of the cluster, because this one left a call unanswered. Its connection may
   * be intact, so that the client would never leave it by itself.
   */
  async leave(node: Channel | undefined): Promise<void> {
    if (!this.isCluster || node === undefined || node !== this.channel) return
    this.silent = { target: node.getTarget(), until: performance.now() + AVOID_MS }
    this.orderSeeds()
    await this.reconnect(node)
  }

  /**
   * Leaves a silent node out of those that are asked for the leader, since each question to it takes `GOSSIP_SECONDS`.
   * The client reads this list whenever it looks for a node.
   */
  private orderSeeds(): void {
    if (this.seeds === undefined) return
    const { silent } = this
    const isSilent = (seed: EndPoint): boolean =>
      silent !== undefined && performance.now() < silent.until && silent.target.replace(/^dns:/u, '') === targetOf(seed)
    const answering = this.allSeeds.filter((seed) => !isSilent(seed))
    this.seeds.splice(0, this.seeds.length, ...(answering.length === 0 ? this.allSeeds : answering))
  }

  private isAvoided(node: Channel): boolean {
    return this.silent !== undefined && node.getTarget() === this.silent.target && performance.now() < this.silent.until
  }

  /** Ends all calls and closes the connection. */
  async shutdown(): Promise<void> {
    this.isShut = true
    const disposed = this.dispose()
    this.channel?.close()
    await disposed
  }
}

/** Asks for no name when the server is named by an IP address, for which TLS has no names; Node would warn. */
function withoutAddressAsName(options: ConnectionOptions): void {
  const { servername = '' } = options
  if (isIP(servername) === 0) return
  options.servername = ''
  options.checkServerIdentity ??= (_name, certificate) => checkServerIdentity(servername, certificate)
}

/**
 * Runs `create` so that TLS handshakes of its result do not keep the process alive: a handshake with a suspended server
 * never ends, even after its channel was closed.
 */
function withOwnHandshakes<T>(create: () => T): T {
  const { createSsl } = channelCredentials
  channelCredentials.createSsl = (...options) => {
    const ssl = createSsl(...options)
    const createSecureConnector = ssl._createSecureConnector.bind(ssl)
    ssl._createSecureConnector = (...target) => {
      const connector: SecureConnector & { readonly connectionOptions?: ConnectionOptions } = createSecureConnector(
        ...target,
      )
      if (connector.connectionOptions !== undefined) withoutAddressAsName(connector.connectionOptions)
      const connect = connector.connect.bind(connector)
      connector.connect = async (socket) => {
        socket.unref()
        return await connect(socket)
      }
      return connector
    }
    return ssl
  }
  try {
    return create()
  } finally {
    channelCredentials.createSsl = createSsl
  }
}

/** Creates a client for the address; the first call connects. */
export function createClient(address: KurrentDbAddress): LedgerClient {
  // The client warns on the console about a keepalive below 10 s, which is intended here or set in the address.
  const warn = console.warn
  console.warn = () => undefined
  try {
    return withOwnHandshakes(
      () =>
        new LedgerClient(
          settingsOf(address),
          channelCredentialsOf(address),
          address.credentials,
          address.maxDiscoverAttempts ?? DISCOVER_ATTEMPTS,
        ),
    )
  } catch (error) {
    if (isStoreError(error)) throw error
    throw storeError('StoreRefused', `${address.name}: ${sentenceOf(error)}`)
  } finally {
    console.warn = warn
  }
}
