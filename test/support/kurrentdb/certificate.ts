/** A certificate for this machine that vouches for itself. */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Makes another certificate for the key that lies in a folder, which is valid from one time to another, as
 * `20200101000000Z`; gives its file.
 */
export async function certificateOfTime(folder: string, from: string, to: string): Promise<string> {
  const [request, path] = [join(folder, `${from}.csr`), join(folder, `${from}.pem`)]
  const key = join(folder, 'key.pem')
  writeFileSync(
    join(folder, 'ca.cnf'),
    `[ca]\ndefault_ca=it\n[it]\ndatabase=${folder}/${from}.index\nnew_certs_dir=${folder}\nrand_serial=yes\ndefault_md=sha256\npolicy=any\n[any]\ncommonName=supplied\n`,
  )
  writeFileSync(join(folder, `${from}.index`), '')
  await run('openssl', ['req', '-new', '-key', key, '-subj', '/CN=localhost', '-out', request])
  const times = ['-startdate', from, '-enddate', to]
  const how = ['-config', join(folder, 'ca.cnf'), '-batch', '-notext', '-selfsign', '-keyfile', key, ...times]
  await run('openssl', ['ca', ...how, '-in', request, '-out', path])
  return path
}

/** Makes one in a folder; `path` is the certificate's file. */
export async function certificateIn(folder: string): Promise<{ key: string; certificate: string; path: string }> {
  const [keyPath, path] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  await run('openssl', [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '2',
    '-keyout',
    keyPath,
    '-out',
    path,
    ...subject,
  ])
  return { key: readFileSync(keyPath, 'utf8'), certificate: readFileSync(path, 'utf8'), path }
}
