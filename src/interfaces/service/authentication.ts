/** Who sends a request: a key, the login of the page, or anyone on a service of this machine without keys. */
import type { KeyRecord } from '../../ports/service-state.js'
import type { ServiceStores } from '../../library/processes.js'
import { isFromOtherSite } from '../../lib/cross-site.js'
import { isOwnHost } from '../page/security.js'
import { accessOf, checkRoles, EVERYTHING, keyGiven, type Access } from './access.js'
import { createKeyCheck } from './keys.js'
import { createRate, type Limits } from './limits.js'
import { keyOfSession, sessionCookie } from './page-session.js'
import { Refused } from './problems.js'

interface AuthenticationOptions {
  readonly stores: Pick<ServiceStores, 'keys' | 'budget'>
  readonly pepper?: string | undefined
  readonly ownPort?: () => number
}

/** Identifies requests. */
export class Authentication {
  private readonly check: ReturnType<typeof createKeyCheck>
  private readonly rate: ReturnType<typeof createRate>
  private readonly pepper: string | undefined
  private readonly ownPort: AuthenticationOptions['ownPort']

  constructor({ stores, pepper, ownPort }: AuthenticationOptions, limits: Limits) {
    this.check = createKeyCheck(stores.keys, pepper)
    this.rate = createRate(limits.requestsPerMinute, stores.budget)
    this.pepper = pepper
    this.ownPort = ownPort
  }

  /** Identity of the request; throws if its credentials are not accepted. */
  async whoAsks(headers: Headers, header: string): Promise<Access> {
    if (!(await this.check.areNeeded()) && this.ownPort !== undefined) {
      checkHost(headers, this.ownPort())
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
    const record = await this.check.check(key)
    if (record === undefined)
      throw new Refused('KeyRefused', 'this key is not known here, or it was revoked', {}, challenge)
    return await this.accessBy(record, async () => (await this.check.check(key)) !== undefined)
  }

  private async accessBy(record: KeyRecord, isCurrent: Access['isCurrent']): Promise<Access> {
    const access = accessOf(record, this.pepper ?? '', isCurrent)
    await this.rate(record.id)
    return access
  }

  /** The page shows the whole ledger: it takes a key that may read and audit all of it. Undefined without a login. */
  async whoSeesThePage({ method, headers }: Request): Promise<Access | undefined> {
    const access = await this.sessionOf(headers)
    if (access === undefined && headers.get('authorization') === null && (await this.check.areNeeded()))
      if (method === 'GET' && (headers.get('accept') ?? '').includes('text/html')) return undefined
    const reader = access ?? (await this.whoAsks(headers, 'authorization'))
    checkPageRoles(reader)
    return reader
  }

  /** Access by the login of the page. */
  private async sessionOf(headers: Headers): Promise<Access | undefined> {
    const { pepper, check } = this
    const find = async (): Promise<KeyRecord | undefined> =>
      pepper === undefined ? undefined : await keyOfSession(pepper, headers, (id) => check.find(id), Date.now())
    const key = await find()
    return key === undefined ? undefined : await this.accessBy(key, async () => (await find()) !== undefined)
  }

  /** Logs in to the page with a key. Returns a function that makes the cookie; undefined for an unknown key. */
  async logIn(
    key: string,
  ): Promise<{ readonly access: Access; readonly cookie: (isSecure: boolean) => string } | undefined> {
    const { pepper } = this
    const record = await this.check.check(key)
    if (record === undefined || pepper === undefined) return undefined
    const access = await this.accessBy(record, () => Promise.resolve(true))
    checkPageRoles(access)
    return { access, cookie: (isSecure) => sessionCookie(pepper, record, isSecure, Date.now()) }
  }
}

function checkPageRoles(access: Access): void {
  checkRoles(access, { roles: ['read'], reach: 'ledger' })
  checkRoles(access, { roles: ['audit'], reach: 'ledger' })
}

/** Rejects names of other machines and pages of other sites; for a service without keys. */
function checkHost(headers: Headers, port: number): void {
  if (!isOwnHost(headers.get('host') ?? undefined, port))
    throw new Refused('WrongHost', 'this service runs without keys and answers to the names of this machine alone')
  const origin = headers.get('origin')
  if (origin !== null && isFromOtherSite(headers))
    throw new Refused('WrongHost', 'this service runs without keys and answers no pages of other sites')
}
