/**
 * The address of a KurrentDB as the ecosystem writes it, and the client for it.
 *
 * The address is read here and not by the client, which prints unknown parameters and password on the console, takes no
 * `kurrentdb://`, and cannot switch off the check of a certificate.
 */
import {
  connectivityState,
  credentials as channelCredentials,
  type Channel,
  type ClientReadableStream,
} from '@grpc/grpc-js'
import { convertToCommandError, EventStoreDBClient } from '@eventstore/db-client'
import type {
  ChannelCredentialOptions,
  Credentials,
  DNSClusterOptions,
  EndPoint,
  GossipClusterOptions,
  SingleNodeOptions,
} from '@eventstore/db-client'
import { StreamsClient, StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { readFileSync } from 'node:fs'
import { sentenceOf, StoreError } from '../../ports/store-error.js'
import {
  type Answered,
  answerOf,
  appendOf,
  type Question,
  type Received,
  receivedFrom,
  requestOf,
  type Sent,
} from './wire.js'

type NodePreference = NonNullable<GossipClusterOptions['nodePreference']>

export interface KurrentDbAddress {
  /** The address for people: scheme, user and hosts, without the password. */
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
// A server that is stopped, or whose machine is gone, shows by missing pings alone: after 19 s with the client's
// defaults, after 5.3 s with these.
const KEEP_ALIVE_MS = 3_000
// For one node that is asked who leads. With the client's own 5 s, two nodes that say nothing use up the time of an
// append.
const GOSSIP_SECONDS = 2
const DISCOVER_ATTEMPTS = 10
const LONGEST_TIMER_MS = 2 ** 31 - 1

const WHAT_IS_ONE =
  'an address looks like kurrentdb://user:password@host:2113?tls=true or kurrentdb+discover://host1:2113,host2:2113'

const refuse = (detail: string): never => {
  throw new StoreError('StoreRefused', detail)
}

/** Names are compared as the client does it: without case, `_` and `-`. */
const flat = (name: string): string => name.toLowerCase().replaceAll(/[_-]/gu, '')

type Read = (text: string, name: string) => string | number | boolean
const flag: Read = (text, name) =>
  text === 'true' || text === 'false' ? text === 'true' : refuse(`${name} has to be true or false`)
const whole =
  (least: number): Read =>
  (text, name) => {
    const number = Number(text)
    return /^-?\d+$/u.test(text) && number >= least
      ? number
      : refuse(`${name} has to be a whole number from ${String(least)} on`)
  }
const oneOf =
  (...choices: readonly string[]): Read =>
  (text, name) =>
    choices.find((choice) => flat(choice) === flat(text)) ?? refuse(`${name} has to be one of ${choices.join(', ')}`)
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
  // How the client reports a refused append to its own caller, which is this adapter; it changes nothing for anybody
  // else.
  throwOnAppendFailure: flag,
} as const

type ParameterName = keyof typeof PARAMETERS
const parameterNames = new Map(Object.keys(PARAMETERS).map((name) => [flat(name), name]))
const isParameter = (name: string | undefined): name is ParameterName => name !== undefined && name in PARAMETERS

function decoded(text: string, what: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return refuse(`${what} of the address has a % that stands for nothing (write it as %25)`)
  }
}

function parseHost(text: string): EndPoint {
  const match = /^(\[[\da-f:.]+\]|[^\s:@[\]]+)(?::(\d{1,5}))?$/iu.exec(text.trim())
  if (match?.[1] === undefined) return refuse(`${JSON.stringify(text)} in the address is no host:port; ${WHAT_IS_ONE}`)
  const port = match[2] === undefined ? DEFAULT_PORT : Number(match[2])
  return port >= 1 && port <= 65_535 ? { address: match[1], port } : refuse(`${String(port)} in the address is no port`)
}

function parseParameters(query: string): ReadonlyMap<ParameterName, string | number | boolean> {
  const given = new Map<ParameterName, string | number | boolean>()
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const cut = pair.indexOf('=')
    const written = decoded(cut < 0 ? pair : pair.slice(0, cut), 'a parameter').trim()
    const name = parameterNames.get(flat(written))
    if (!isParameter(name) && query.includes('@'))
      return refuse(
        'the address has an @ behind its ?, and no parameter that is known before it; a ? in the user or the password is written %3F',
      )
    if (!isParameter(name))
      return refuse(
        `the address has a parameter ${JSON.stringify(written)}, which is none of ${Object.keys(PARAMETERS).join(', ')}`,
      )
    const value = cut < 0 ? '' : decoded(pair.slice(cut + 1), name).trim()
    if (value === '') return refuse(`${name} in the address has no value`)
    given.set(name, PARAMETERS[name](value, name))
  }
  return given
}

/** Reads an address; throws a `StoreError` that says what is wrong with it and never repeats the password. */
export function parseAddress(address: string): KurrentDbAddress {
  const [, scheme = '', discover, rest = ''] = /^([a-z]+)(\+discover)?:\/\/(.*)$/isu.exec(address.trim()) ?? []
  if (!SCHEMES.has(scheme.toLowerCase()))
    return refuse(`the address of the store is none of a KurrentDB; ${WHAT_IS_ONE}`)
  const queryAt = rest.indexOf('?')
  const query = queryAt < 0 ? '' : rest.slice(queryAt + 1)
  // Before the hosts: where a password has a bare ?, what stands on both sides of it is a secret, and no message may
  // repeat it.
  const given = parseParameters(query)
  const authority = (queryAt < 0 ? rest : rest.slice(0, queryAt)).replace(/\/+$/u, '')
  const hostsAt = authority.lastIndexOf('@') + 1
  const hostList = authority.slice(hostsAt)
  if (hostList.trim() === '') return refuse(`the address of the store names no host; ${WHAT_IS_ONE}`)
  const credentials = hostsAt === 0 ? undefined : parseCredentials(authority.slice(0, hostsAt - 1))
  const hosts = hostList.split(',').map(parseHost)
  const text = (name: ParameterName): string | undefined => (given.has(name) ? String(given.get(name)) : undefined)
  const number = (name: ParameterName): number | undefined => (given.has(name) ? Number(given.get(name)) : undefined)
  const preference = text('nodePreference')
  return {
    name: `${scheme.toLowerCase()}${(discover ?? '').toLowerCase()}://${credentials === undefined ? '' : `${encodeURIComponent(credentials.username)}@`}${hosts.map(targetOf).join(',')}`,
    discover: discover !== undefined,
    hosts,
    credentials,
    tls: given.get('tls') !== false,
    tlsVerifyCert: given.get('tlsVerifyCert') !== false,
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

function contentOf(name: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    return refuse(`the file that ${name} names cannot be read: ${sentenceOf(error)}`)
  }
}

function channelCredentialsOf(address: KurrentDbAddress): ChannelCredentialOptions {
  const { tls, tlsVerifyCert, tlsCaFile, userCertFile, userKeyFile } = address
  if (!tls) return { insecure: true }
  if ((userCertFile === undefined) !== (userKeyFile === undefined))
    return refuse('userCertFile and userKeyFile belong together')
  return {
    insecure: false,
    ...(tlsCaFile === undefined ? {} : { rootCertificate: contentOf('tlsCaFile', tlsCaFile) }),
    ...(userCertFile === undefined ? {} : { userCertFile: contentOf('userCertFile', userCertFile) }),
    ...(userKeyFile === undefined ? {} : { userKeyFile: contentOf('userKeyFile', userKeyFile) }),
    ...(tlsVerifyCert ? {} : { verifyOptions: { rejectUnauthorized: false, checkServerIdentity: () => undefined } }),
  }
}

/** The client makes of -1, which stands for never, a time that no timer holds: Node waits one millisecond instead. */
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
    // The client's attempts go on after it was closed, and hold the process: they are counted here, see `LedgerClient`.
    maxDiscoverAttempts: 1,
  }
  const [first] = hosts
  if (first === undefined) return refuse('the address of the store names no host')
  // The client's own discovery takes one seed alone, and never recovers where that one is the node that died; asked of
  // several hosts it is the same gossip.
  if (hosts.length > 1) return { ...cluster, endpoints: [...hosts] }
  return discover ? { ...cluster, discover: first } : { ...common, endpoint: first }
}

/**
 * Whether calls go to a cluster's leader alone, so that a read shows what was just acknowledged: a follower may lag
 * behind.
 */
export const wantsLeader = ({ hosts, discover, nodePreference }: KurrentDbAddress): boolean =>
  (discover || hosts.length > 1) && (nodePreference === undefined || nodePreference === 'leader')

/** The client, with those of its habits changed that could end a process or leave a promise open for ever. */
export class LedgerClient extends EventStoreDBClient {
  private channel: Channel | undefined
  private isShut = false

  constructor(
    settings: DNSClusterOptions | GossipClusterOptions | SingleNodeOptions,
    channelOptions: ChannelCredentialOptions,
    credentials: Credentials | undefined,
    discoverAttempts: number,
  ) {
    // Three overloads of one constructor, none of which takes their union.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
    super(settings as SingleNodeOptions, channelOptions, credentials)
    const { execute, handleError, getChannel } = this

    // A channel that was closed since the call began throws inside an async executor of the client: unhandled, and the
    // append never settles.
    this.execute = async (service, name, action) =>
      await execute(service, name, async (client) => {
        if (client.getChannel().getConnectivityState(false) === connectivityState.SHUTDOWN)
          throw new Error('the connection was closed before the call began')
        return await action(client)
      })

    // The client does not wait for this one, and while no node of a cluster answers it rejects.
    this.handleError = async (client, error) => {
      try {
        await handleError(client, error)
      } catch {
        // The call that failed tells; the next one connects again.
      }
    }

    // `dispose` ends the calls and leaves the connection open, and looking for a node goes on.
    this.getChannel = async () => {
      for (let attempt = 1; ; attempt++) {
        try {
          const channel = await getChannel()
          this.channel = channel
          if (this.isShut) channel.close()
          return channel
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

  /** Puts a question to the server; the answers come until the call is cancelled, or by themselves to an end. */
  async ask(
    question: Question,
    options: { readonly requiresLeader?: boolean },
  ): Promise<ClientReadableStream<Received>> {
    const { path, requestSerialize } = StreamsService.read
    const call = this.GRPCStreamCreator(StreamsClient, 'read', (client) =>
      client.makeServerStreamRequest(
        path,
        requestSerialize,
        receivedFrom,
        requestOf(question),
        ...this.callArguments(options, { deadline: Infinity }),
      ),
    )
    return await call()
  }

  /**
   * Appends events right behind `after` (-1n: as the first ones), alone and by the deadline. What the client does too,
   * without making objects and base64 of texts that are there, and without a turn of its queue for each event.
   */
  async append(
    stream: string,
    after: bigint,
    events: readonly Sent[],
    options: { readonly requiresLeader?: boolean; readonly deadline: number },
  ): Promise<Answered> {
    const { path, requestSerialize, responseDeserialize } = StreamsService.append
    return await this.execute(
      StreamsClient,
      'append',
      (client) =>
        new Promise<Answered>((resolve, reject) => {
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
                  resolve(answerOf(answer))
                } catch (failure) {
                  reject(failure)
                }
              }
            },
          )
          call.on('error', failed)
          for (const message of appendOf(stream, after, events)) call.write(message)
          call.end()
        }),
    )
  }

  /** Stands for the node that calls go to at the moment: another one after the connection was made anew. */
  node(): unknown {
    return this.channel
  }

  /** Ends all calls and closes the connection. */
  async shutdown(): Promise<void> {
    this.isShut = true
    const disposed = this.dispose()
    this.channel?.close()
    await disposed
  }
}

/**
 * Makes what `make` makes, whose TLS handshakes hold no process: one with a server that is stopped goes on for ever,
 * also after its channel was closed.
 */
function holdingNothing<T>(make: () => T): T {
  const { createSsl } = channelCredentials
  channelCredentials.createSsl = (...given) => {
    const made = createSsl(...given)
    const createSecureConnector = made._createSecureConnector.bind(made)
    made._createSecureConnector = (...target) => {
      const connector = createSecureConnector(...target)
      const connect = connector.connect.bind(connector)
      connector.connect = async (socket) => {
        socket.unref()
        return await connect(socket)
      }
      return connector
    }
    return made
  }
  try {
    return make()
  } finally {
    channelCredentials.createSsl = createSsl
  }
}

/** A client for the address. Nothing is sent before the first call. */
export function createClient(address: KurrentDbAddress): LedgerClient {
  // The client warns on the console about a keepalive below 10 s, which is chosen here, or by whoever wrote the
  // address.
  const warn = console.warn
  console.warn = () => undefined
  try {
    return holdingNothing(
      () =>
        new LedgerClient(
          settingsOf(address),
          channelCredentialsOf(address),
          address.credentials,
          address.maxDiscoverAttempts ?? DISCOVER_ATTEMPTS,
        ),
    )
  } catch (error) {
    if (error instanceof StoreError) throw error
    throw new StoreError('StoreRefused', `${address.name}: ${sentenceOf(error)}`)
  } finally {
    console.warn = warn
  }
}
