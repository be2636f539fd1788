/**
 * Addresses of a KurrentDB, and the client's settings from them: hosts, TLS, credentials, and the call for appends.
 */
import * as grpc from '@grpc/grpc-js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import services from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAddress } from '../../src/adapters/kurrentdb/connection.js'
import { openKurrentDbEventStore, type KurrentDbEventStore } from '../../src/adapters/kurrentdb/event-store.js'
import { createMemoryBodyStore } from '../../src/adapters/memory/body-store.js'
import { appended, eventNamed } from '../support/events.js'
import { noIndex } from '../support/event-ids.js'

describe('an address', () => {
  test.each([
    [
      'esdb://localhost:2113?tls=false',
      {
        name: 'esdb://localhost:2113',
        discover: false,
        hosts: [{ address: 'localhost', port: 2113 }],
        tls: false,
        credentials: undefined,
      },
    ],
    [
      'kurrentdb://db.example',
      {
        name: 'kurrentdb://db.example:2113',
        discover: false,
        hosts: [{ address: 'db.example', port: 2113 }],
        tls: true,
      },
    ],
    ['kdb://a:1/?tls=true', { hosts: [{ address: 'a', port: 1 }], tls: true }],
    ['KURRENTDB+Discover://a', { name: 'kurrentdb+discover://a:2113', discover: true }],
    [
      'esdb+discover://a,b:2,c:3?nodePreference=Follower',
      {
        discover: true,
        hosts: [
          { address: 'a', port: 2113 },
          { address: 'b', port: 2 },
          { address: 'c', port: 3 },
        ],
        nodePreference: 'follower',
      },
    ],
    ['esdb://[::1]:2113', { hosts: [{ address: '[::1]', port: 2113 }] }],
    [
      'esdb://me:p%40ss:w%2Ford@a',
      { name: 'esdb://me@a:2113', credentials: { username: 'me', password: 'p@ss:w/ord' } },
    ],
    [
      'esdb://a?tlsVerifyCert=false&tls_ca_file=%2Fca.pem&connectionName=me%20too',
      { tlsVerifyCert: false, tlsCaFile: '/ca.pem', connectionName: 'me too' },
    ],
    [
      'esdb://a?keepAliveInterval=10000&keepAliveTimeout=-1&defaultDeadline=7',
      { keepAliveInterval: 10_000, keepAliveTimeout: -1, defaultDeadline: 7 },
    ],
    [
      'esdb://a?discoveryInterval=1&gossipTimeout=2&maxDiscoverAttempts=3&throwOnAppendFailure=false',
      { discoveryInterval: 1, gossipTimeout: 2, maxDiscoverAttempts: 3 },
    ],
    [
      'esdb://a',
      { keepAliveInterval: 3_000, keepAliveTimeout: 3_000, connectionName: 'context-ledger', tlsVerifyCert: true },
    ],
  ])('%s', (address, parts) => {
    expect(parseAddress(address)).toMatchObject(parts)
  })

  test.each([
    ['', 'kurrentdb://'],
    ['postgres://me:secret@host/db', 'kurrentdb://'],
    ['localhost:2113', 'kurrentdb://'],
    ['esdb://', 'names no host'],
    ['esdb://me:secret@', 'names no host'],
    ['esdb://me:secret@a,,b', 'not a valid host:port'],
    ['esdb://a:secret', 'not a valid host:port'],
    ['esdb://a:70000', 'not a valid port'],
    ['esdb://secret@a', 'user:password'],
    ['esdb://me:%secret@a', '%25'],
    ['esdb://me:secret@a?tls=maybe', 'tls must be true or false'],
    ['esdb://me:secret@a?timeout=3', '"timeout"'],
    ['esdb://me:%73ecret?%73ecret@a:2113', '%3F'],
    ['esdb://me:secret?secret@a:2113', '%3F'],
    ['esdb://me:secret?secret=secret@a:2113?tls=true', '%3F'],
    ['esdb://me:secret@a?tls', 'tls in the address has no value'],
    ['esdb://me:secret@a?keepAliveInterval=soon', 'keepAliveInterval must be a whole number'],
    ['esdb://me:secret@a?nodePreference=any', 'leader, follower'],
  ])('%j is rejected with a reason that never contains the password', (address, reason) => {
    const parsing = (): unknown => parseAddress(address)
    expect(parsing).toThrow(expect.objectContaining({ kind: 'StoreRefused', message: expect.stringContaining(reason) }))
    expect(parsing).not.toThrow(/esdb:\/\/me:secret|me:secret|%secret|"secret"/u)
  })

  test.each([
    'tlsCaFile=/no/such/file.pem',
    'userCertFile=/no/such.pem&userKeyFile=/no/such.key',
    'userCertFile=/no/such.pem',
  ])('with %s is rejected before the first call', async (parameters) => {
    const opening = openKurrentDbEventStore(`esdb://me:secret@127.0.0.1:1?${parameters}`, {
      bodies: createMemoryBodyStore(),
      eventIds: noIndex,
    })
    await expect(opening).rejects.toMatchObject({
      kind: 'StoreRefused',
      message: expect.stringMatching(/tlsCaFile|userCertFile/u),
    })
  })
})

interface ReceivedCall {
  readonly path: 'append' | 'batch' | 'features'
  readonly authorization: string | undefined
}

/** Starts a server that accepts every append and records its call and credentials. */
async function listen(
  credentials: grpc.ServerCredentials,
): Promise<{ readonly port: number; readonly calls: ReceivedCall[]; close(): void }> {
  const calls: ReceivedCall[] = []
  const note = (path: ReceivedCall['path'], call: { readonly metadata: grpc.Metadata }): void => {
    calls.push({ path, authorization: call.metadata.get('authorization')[0]?.toString() })
  }
  const server = new grpc.Server()
  server.addService(services.StreamsService, {
    read: (call: grpc.ServerWritableStream<unknown, unknown>) => call.end(),
    append(call: grpc.ServerReadableStream<unknown, unknown>, answer: (error: null, response: unknown) => void) {
      note('append', call)
      call.on('data', () => undefined)
      call.on('end', () => {
        const position = new streams.AppendResp.Position().setCommitPosition('7').setPreparePosition('7')
        answer(
          null,
          new streams.AppendResp().setSuccess(
            new streams.AppendResp.Success().setCurrentRevision('0').setPosition(position),
          ),
        )
      })
    },
    batchAppend(call: grpc.ServerDuplexStream<unknown, unknown>) {
      note('batch', call)
      call.end()
    },
    delete: () => undefined,
    tombstone: () => undefined,
  })
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('localhost:0', credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)))
  })
  return { port, calls, close: () => server.forceShutdown() }
}

async function appendOnce(address: string): Promise<void> {
  const store: KurrentDbEventStore = await openKurrentDbEventStore(address, {
    bodies: createMemoryBodyStore(),
    eventIds: noIndex,
    deadlineMs: 3_000,
  })
  try {
    expect(await appended(store, 'conversation-a', [eventNamed('x')], 'no_stream')).toMatchObject({
      revision: 0,
      position: 7,
    })
  } finally {
    await store.close()
  }
}

const basic = `Basic ${Buffer.from('me:secret').toString('base64')}`

test('without TLS appends use the unary call, and no credentials are sent', async () => {
  const server = await listen(grpc.ServerCredentials.createInsecure())
  await appendOnce(`esdb://localhost:${String(server.port)}?tls=false`)
  await appendOnce(`esdb://me:secret@localhost:${String(server.port)}?tls=false`)
  expect(server.calls).toEqual([
    { path: 'append', authorization: undefined },
    { path: 'append', authorization: undefined },
  ])
  server.close()
})

describe('with TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'context-ledger-tls-'))
  const key = join(folder, 'key.pem')
  const certificate = join(folder, 'certificate.pem')
  let server: Awaited<ReturnType<typeof listen>>
  beforeAll(async () => {
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=localhost',
        '-addext',
        'subjectAltName=DNS:localhost,IP:127.0.0.1',
        '-keyout',
        key,
        '-out',
        certificate,
      ],
      { stdio: 'ignore' },
    )
    server = await listen(
      grpc.ServerCredentials.createSsl(null, [
        { private_key: readFileSync(key), cert_chain: readFileSync(certificate) },
      ]),
    )
  })
  afterAll(() => {
    server.close()
    rmSync(folder, { recursive: true })
  })

  test('appends use the unary call, with the credentials of the address if it has any', async () => {
    await appendOnce(
      `kurrentdb://me:secret@localhost:${String(server.port)}?tlsCaFile=${encodeURIComponent(certificate)}`,
    )
    await appendOnce(`esdb://localhost:${String(server.port)}?tls=true&tlsCaFile=${encodeURIComponent(certificate)}`)
    expect(server.calls).toEqual([
      { path: 'append', authorization: basic },
      { path: 'append', authorization: undefined },
    ])
  })

  test('an untrusted certificate is rejected, unless the address disables the check', async () => {
    await expect(appendOnce(`esdb://me:secret@localhost:${String(server.port)}`)).rejects.toMatchObject({
      kind: 'StoreUnavailable',
      message: expect.stringMatching(/certificate/u),
    })
    await appendOnce(`esdb://localhost:${String(server.port)}?tlsVerifyCert=false`)
  })

  test('a server that is named by its IP address is checked by it, without a warning of Node', async () => {
    const warnings: string[] = []
    const note = ({ message }: Error): void => void warnings.push(message)
    process.on('warning', note)
    const trusting = `tlsCaFile=${encodeURIComponent(certificate)}`
    await appendOnce(`esdb://127.0.0.1:${String(server.port)}?${trusting}`)
    await expect(appendOnce(`esdb://127.0.0.2:${String(server.port)}?${trusting}`)).rejects.toMatchObject({
      kind: 'StoreUnavailable',
    })
    process.off('warning', note)
    expect(warnings).toEqual([])
  })

  test.each([
    ['empty', ''],
    ['no certificate', 'something else'],
    ['damaged', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
  ])('a file of certificates that is %s is refused', async (_name, content) => {
    const file = join(folder, 'wrong.pem')
    writeFileSync(file, content)
    for (const parameter of ['tlsCaFile', 'userCertFile'])
      await expect(
        appendOnce(
          `esdb://localhost:${String(server.port)}?${parameter}=${encodeURIComponent(file)}&userKeyFile=${encodeURIComponent(key)}${parameter === 'tlsCaFile' ? `&userCertFile=${encodeURIComponent(certificate)}` : ''}`,
        ),
      ).rejects.toMatchObject({
        kind: 'StoreRefused',
        message: expect.stringMatching(
          new RegExp(`the file of ${parameter} contains (?:no|a damaged) certificate`, 'u'),
        ),
      })
  })

  test('an address that is wrong about TLS says so, in both directions', async () => {
    await expect(appendOnce(`esdb://localhost:${String(server.port)}?tls=false`)).rejects.toMatchObject({
      kind: 'StoreUnavailable',
      message: expect.stringContaining('tls=true'),
    })
    const plain = await listen(grpc.ServerCredentials.createInsecure())
    await expect(appendOnce(`esdb://localhost:${String(plain.port)}`)).rejects.toMatchObject({
      kind: 'StoreUnavailable',
      message: expect.stringContaining('tls=false'),
    })
    plain.close()
  })
})
