/** The identity of a request: by its key, or by its address if the service runs without keys. */
import { isOwnHost } from '../page/security.js'
import { accessOf, checkRoles, EVERYTHING, keyGiven, type Access } from './access.js'
import type { KeyCheck } from './keys.js'
import { Refused } from './problems.js'

interface AuthenticationOptions {
  readonly check: KeyCheck
  /** Throws if a key has made too many requests. */
  readonly rate: (keyId: string) => Promise<void>
  /** The port of a service that may run without keys. */
  readonly ownPort: (() => number) | undefined
}

/** Finds out who sends a request. */
export class Authentication {
  constructor(private readonly options: AuthenticationOptions) {}

  /** Access by the key in a header; throws if it is not accepted. */
  async identify(headers: Headers, header: string): Promise<Access> {
    const { check, rate, ownPort } = this.options
    if (!(await check.areNeeded()) && ownPort !== undefined) {
      checkOwnHost(headers, ownPort())
      return EVERYTHING
    }
    const challenge = { 'www-authenticate': 'Bearer realm="context-ledger"' }
    const key = keyGiven(headers, header)
    if (key === undefined)
      throw new Refused(
        'KeyMissing',
        `give a key: \`${header}: Bearer KEY\`; \`context-ledger keys create\` makes one`,
        {},
        challenge,
      )
    const record = await check.check(key)
    if (record === undefined)
      throw new Refused('KeyRefused', 'this key is not known here, or it was revoked', {}, challenge)
    const access = accessOf(record, async () => (await check.check(key)) !== undefined)
    await rate(record.id)
    return access
  }

  /** Access to the page, which shows the whole ledger: it takes a key that may read and audit all of it. */
  async identifyForPage(headers: Headers): Promise<Access> {
    try {
      const access = await this.identify(headers, 'authorization')
      checkRoles(access, { roles: ['read'], reach: 'ledger' })
      checkRoles(access, { roles: ['audit'], reach: 'ledger' })
      return access
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 401) throw error
      // A browser asks for a name and a password: the key is the password.
      throw new Refused(error.kind, error.message, error.about, {
        'www-authenticate': 'Basic realm="context-ledger", charset="UTF-8"',
      })
    }
  }
}

/** Throws unless a request without a key comes from this machine and from no page of another site. */
function checkOwnHost(headers: Headers, port: number): void {
  if (!isOwnHost(headers.get('host') ?? undefined, port))
    throw new Refused('WrongHost', 'this service runs without keys and answers to the names of this machine alone')
  // A page of another site can have a browser of this machine ask without reading the answer.
  const origin = headers.get('origin')
  if (origin !== null && (!URL.canParse(origin) || new URL(origin).host !== headers.get('host')))
    throw new Refused('WrongHost', 'this service runs without keys and answers no pages of other sites')
}
