/**
 * A scripted server with the transit calls of Vault's HTTP API: keys with versions, encryption, rotation, configuration
 * and trimming, with the statuses of Vault's source. Keys are in memory.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { startScripted, type ScriptedAnswer as Answer, type ScriptedServer } from './loopback-server.js'

interface Key {
  versions: Map<number, Buffer>
  latest: number
  minAvailable: number
  minDecryption: number
  minEncryption: number
}

export interface TransitServer {
  /** `vault+http://127.0.0.1:PORT/transit`. */
  readonly keys: string
  /** `http://127.0.0.1:PORT`. */
  readonly server: string
  /** Calls are named `POST encrypt/cl-1`. */
  readonly http: ScriptedServer
  /** Changes a key as an operator can. */
  readonly change: (name: string, change: (key: Key) => void) => void
  readonly forget: (name: string) => void
}

export const TOKEN = 'hvs.test'
const NOT_FOUND: Answer = [404, { errors: [] }]
const refused = (sentence: string): Answer => [400, { errors: [sentence] }]

const described = (name: string, key: Key): Answer => [
  200,
  {
    data: {
      name,
      type: 'aes256-gcm96',
      latest_version: key.latest,
      min_available_version: key.minAvailable,
      min_decryption_version: key.minDecryption,
      min_encryption_version: key.minEncryption,
      keys: Object.fromEntries([...key.versions.keys()].map((version) => [version, 1_700_000_000])),
    },
  },
]

function encrypt(key: Key, body: Readonly<Record<string, unknown>>): Answer {
  const version = Number(body['key_version'] ?? key.latest)
  const bytes = key.versions.get(version)
  if (bytes === undefined || version < key.minEncryption)
    return refused('requested version for encryption is less than the minimum encryption key version')
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', bytes, iv)
  const text = Buffer.concat([iv, cipher.update(String(body['plaintext']), 'base64'), cipher.final()])
  const ciphertext = Buffer.concat([text, cipher.getAuthTag()]).toString('base64')
  return [200, { data: { ciphertext: `vault:v${String(version)}:${ciphertext}`, key_version: version } }]
}

function decrypt(key: Key, body: Readonly<Record<string, unknown>>): Answer {
  const [, version, text] = /^vault:v(\d+):(.+)$/u.exec(String(body['ciphertext'])) ?? []
  const bytes = key.versions.get(Number(version))
  if (text === undefined) return refused('invalid ciphertext: no prefix')
  if (bytes === undefined || Number(version) < key.minDecryption)
    return refused('ciphertext or signature version is disallowed by policy (too old)')
  try {
    const sealed = Buffer.from(text, 'base64')
    const decipher = createDecipheriv('aes-256-gcm', bytes, sealed.subarray(0, 12)).setAuthTag(sealed.subarray(-16))
    const plaintext = Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]).toString('base64')
    return [200, { data: { plaintext } }]
  } catch {
    return refused('invalid ciphertext: unable to decrypt')
  }
}

function configure(key: Key, body: Readonly<Record<string, unknown>>): Answer | undefined {
  const minDecryption = Number(body['min_decryption_version'] ?? key.minDecryption)
  const minEncryption = Number(body['min_encryption_version'] ?? key.minEncryption)
  if (Math.max(minDecryption, minEncryption) > key.latest) return refused('cannot set min version above the latest')
  Object.assign(key, { minDecryption, minEncryption })
  return undefined
}

function trim(key: Key, body: Readonly<Record<string, unknown>>): Answer | undefined {
  const least = Number(body['min_available_version'])
  if (least < key.minAvailable || key.minEncryption === 0 || least > Math.min(key.minEncryption, key.minDecryption))
    return refused('minimum available version cannot be set')
  key.minAvailable = least
  for (const version of key.versions.keys()) if (version < least) key.versions.delete(version)
  return undefined
}

class TransitKeys {
  readonly keys = new Map<string, Key>()

  answer(method: string, path: string, body: Readonly<Record<string, unknown>>): Answer {
    const [area = '', name = '', action] = path.split('/')
    const key = this.keys.get(name)
    if (area === 'keys' && action === undefined && method === 'POST') return this.create(name)
    if (key === undefined) return method === 'GET' ? NOT_FOUND : refused('encryption key not found')
    if (area === 'encrypt') return encrypt(key, body)
    if (area === 'decrypt') return decrypt(key, body)
    if (method === 'GET') return described(name, key)
    if (action === 'rotate') key.versions.set((key.latest += 1), randomBytes(32))
    const problem = action === 'config' ? configure(key, body) : action === 'trim' ? trim(key, body) : undefined
    return problem ?? described(name, key)
  }

  private create(name: string): Answer {
    const key = this.keys.get(name) ?? {
      versions: new Map([[1, randomBytes(32)]]),
      latest: 1,
      minAvailable: 0,
      minDecryption: 1,
      minEncryption: 0,
    }
    this.keys.set(name, key)
    return described(name, key)
  }
}

const pathOf = ({ path }: { readonly path: string }): string => path.replace(/^\/v1\/transit\//u, '')

/** Starts a server with an empty transit engine, which accepts `TOKEN`. */
export async function startTransit(): Promise<TransitServer> {
  const transit = new TransitKeys()
  const http = await startScripted(
    (request) =>
      request.headers['x-vault-token'] === TOKEN
        ? transit.answer(request.method, pathOf(request), request.body)
        : [403, { errors: ['permission denied'] }],
    (request) => `${request.method} ${pathOf(request)}`,
  )
  return {
    keys: `vault+http://${http.address}/transit`,
    server: `http://${http.address}`,
    http,
    change(name, change) {
      const key = transit.keys.get(name)
      if (key === undefined) throw new Error(`no key ${name}`)
      change(key)
    },
    forget: (name) => void transit.keys.delete(name),
  }
}
