/**
 * A manifest as a file: JSON Lines, each line canonical JSON (RFC 8785), so that equal manifests have equal bytes. It has
 * a header, a line for each stream, and an end. The end contains the counts, the SHA-256 of all lines before it and the
 * public key, and is signed. So a file of any length is written and read line by line, and every change is detected: the
 * hash covers the lines, and the signature covers the hash.
 */
import { type LedgerError } from '../../lib/ledger-error.js'
import { createHash, createPublicKey, sign, verify, type KeyObject } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { z } from 'zod'
import { fingerprintOf, publicText } from '../../domain/proof/public-key.js'
import { canonicalJson } from '../../domain/values/hash.js'
import {
  manifestError,
  isManifestError,
  type Manifest,
  type ManifestDraft,
  type ManifestHeader,
  type StreamHead,
} from '../../ports/manifest.js'
import { byteLines } from '../../lib/byte-lines.js'
import { FileDraft } from '../../ports/file-draft.js'
import { codeOf } from '../../ports/store-error.js'
import { fileSentence } from './signing-key.js'

const FORMAT = 'context-ledger-manifest'
const VERSION = 1
/** Lines buffered before each write. */
const LINES_PER_WRITE = 1_000

const hash = z.string().regex(/^[0-9a-f]{64}$/u)
const headerSchema = z.strictObject({
  format: z.literal(FORMAT),
  version: z.number().int(),
  ledger: z.string(),
  origin: z.strictObject({ stream: z.string(), id: z.string() }),
  takenAt: z.iso.datetime(),
})
const headSchema = z.strictObject({
  stream: z.string(),
  revision: z.string().regex(/^\d+$/u).transform(Number),
  events: z.number().int(),
  hash,
})
const endSchema = z.strictObject({
  end: z.strictObject({ streams: z.number().int(), events: z.number().int(), sha256: hash, publicKey: z.base64() }),
  signature: z.base64(),
})
type End = z.infer<typeof endSchema>['end']

/** The signed bytes: the last line's `end` after a prefix, so that the signature cannot be used for other data. */
const signedBytes = (end: End): Buffer => Buffer.from(`${FORMAT}-${String(VERSION)}\n${canonicalJson(end)}`, 'utf8')

const unreadable = (path: string, error: unknown): LedgerError =>
  manifestError(
    'FileUnusable',
    codeOf(error) === 'ENOENT' ? `${path} does not exist` : `${path} cannot be read: ${fileSentence(error)}`,
    error,
  )
const unwritable = (path: string, error: unknown): LedgerError =>
  manifestError('WriteFailed', `${path} could not be written: ${fileSentence(error)}`, error)

/** Starts a manifest in a temporary file next to `path`. Throws `FileExists` if `path` exists; `publish` checks again. */
export async function createManifestFile(path: string, header: ManifestHeader, key: KeyObject): Promise<ManifestDraft> {
  const checkTarget = async (): Promise<void> => {
    if ((await stat(path).catch(() => undefined)) !== undefined)
      throw manifestError('FileExists', `${path} already exists`)
  }
  await checkTarget()
  const draft = await FileDraft.open(path).catch((error: unknown) => {
    throw manifestError('FileUnusable', `${path} cannot be written: ${fileSentence(error)}`, error)
  })
  const digest = createHash('sha256')
  let lines: string[] = []
  let streams = 0
  let events = 0
  const flush = async (): Promise<void> => {
    const text = lines.join('')
    lines = []
    digest.update(text, 'utf8')
    await draft.file.appendFile(text).catch((error: unknown) => {
      throw unwritable(path, error)
    })
  }
  const put = async (value: unknown): Promise<void> => {
    lines.push(`${canonicalJson(value)}\n`)
    if (lines.length >= LINES_PER_WRITE) await flush()
  }
  await put({ format: FORMAT, version: VERSION, ...header })
  return {
    async add({ stream, revision, hash: headHash }) {
      streams += 1
      events += revision + 1
      await put({ stream, revision: revision.toString(), events: revision + 1, hash: headHash })
    },
    async publish() {
      await flush()
      const publicKey = publicText(key)
      const end: End = { streams, events, sha256: digest.digest('hex'), publicKey }
      const signature = sign(null, signedBytes(end), key).toString('base64')
      try {
        await draft.file.appendFile(`${canonicalJson({ end, signature })}\n`)
        await draft.finish()
        await checkTarget()
        await draft.replace()
      } catch (error) {
        throw isManifestError(error) ? error : unwritable(path, error)
      }
      return { fingerprint: fingerprintOf(publicKey), streams, events }
    },
    abandon: () => draft.discard(),
  }
}

async function* readLines(path: string): AsyncGenerator<string> {
  try {
    for await (const { bytes } of byteLines(createReadStream(path))) yield bytes.toString('utf8').replace(/\r$/u, '')
  } catch (error) {
    // Opening a directory succeeds, and reading it fails (EISDIR).
    throw unreadable(path, error)
  }
}

const parsed = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** The version of the file; read first, because a later version may have other fields. */
const versionSchema = z.looseObject({ format: z.literal(FORMAT), version: z.number().int() })

function parseHeader(path: string, line: string): ManifestHeader {
  const value = parsed(line)
  const version = versionSchema.safeParse(value).data?.version ?? VERSION
  if (version > VERSION)
    throw manifestError(
      'NoManifest',
      `${path} was written by a later version of this program (manifest version ${String(version)})`,
    )
  const header = headerSchema.safeParse(value)
  if (!header.success)
    throw manifestError('NoManifest', `${path} is not a manifest of a ledger: its first line is not a header`)
  const { ledger, origin, takenAt } = header.data
  return { ledger, origin, takenAt }
}

function parseHead(path: string, line: string, number: number): StreamHead {
  const head = headSchema.safeParse(parsed(line))
  if (!head.success) throw manifestError('ManifestChanged', `${path} line ${String(number)} was changed`)
  const { stream, revision, hash: headHash } = head.data
  return { stream, revision, hash: headHash }
}

/** Whether the signature is by the private key of the public key in the last line. */
function isSigned({ end, signature }: z.infer<typeof endSchema>): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(end.publicKey, 'base64'), format: 'der', type: 'spki' })
    return key.asymmetricKeyType === 'ed25519' && verify(null, signedBytes(end), key, Buffer.from(signature, 'base64'))
  } catch {
    return false
  }
}

/**
 * Reads a manifest and verifies every line and the signature. `heads` reads the file again and verifies the hash again.
 * @param signedBy the fingerprint of the required signer; without it, the signature proves only that the file is
 * unchanged
 */
export async function openManifestFile(path: string, signedBy?: string): Promise<Manifest> {
  const changed = (difference: string): LedgerError =>
    manifestError('ManifestChanged', `${path} was changed after it was signed: ${difference}`)
  const digest = createHash('sha256')
  let header: ManifestHeader | undefined
  let last: string | undefined
  let number = 0
  let events = 0
  for await (const line of readLines(path)) {
    if (header === undefined) header = parseHeader(path, line)
    if (last !== undefined) {
      digest.update(`${last}\n`, 'utf8')
      if (number > 1) events += parseHead(path, last, number).revision + 1
    }
    last = line
    number += 1
  }
  if (header === undefined || last === undefined) throw manifestError('NoManifest', `${path} is empty`)
  const found = endSchema.safeParse(parsed(last))
  if (!found.success) throw changed(`line ${String(number)}, its last one, is not a valid end`)
  const { end } = found.data
  if (end.sha256 !== digest.digest('hex'))
    throw changed('the SHA-256 of its lines does not match the one in its last line')
  if (canonicalJson(parsed(last)) !== last) throw changed('its last line is not canonical JSON')
  if (end.streams !== number - 2 || end.events !== events)
    throw changed('the counts in its last line differ from its lines')
  if (!isSigned(found.data)) throw changed('the signature does not match')
  const fingerprint = fingerprintOf(end.publicKey)
  if (signedBy !== undefined && signedBy !== fingerprint)
    throw manifestError('OtherSigner', `${path} is signed by ${fingerprint}, not by ${signedBy}`)
  return {
    header,
    streams: end.streams,
    events,
    fingerprint,
    async *heads() {
      const secondHash = createHash('sha256')
      let lineNumber = 0
      for await (const line of readLines(path)) {
        lineNumber += 1
        if (lineNumber < number) secondHash.update(`${line}\n`, 'utf8')
        if (lineNumber > 1 && lineNumber < number) yield parseHead(path, line, lineNumber)
      }
      if (lineNumber !== number || secondHash.digest('hex') !== end.sha256)
        throw changed('it changed while it was read')
    },
  }
}
