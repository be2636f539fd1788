/** A certificate for this machine that vouches for itself. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

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
