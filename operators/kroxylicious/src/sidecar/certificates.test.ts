import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';
import type { Clock, Secret } from '@capstan/kube';
import { caBundleOf, fingerprintsIn, webhookCertificate } from './certificates.ts';

const DAY = 24 * 60 * 60 * 1000;
const START = Date.parse('2026-01-01T00:00:00Z');
const dnsNames = ['webhook', 'webhook.system.svc'];

/** The Secret over time: the actions of the runtime for a minter, and the certificates that the server trusts. */
class Life {
  now = START;
  secret: Secret | undefined;
  trusted: readonly string[] | undefined;

  /** Checks once, as the runtime does when time passes or an input changes. Returns whether a certificate was created. */
  async check(names: readonly string[] = dnsNames): Promise<boolean> {
    const inputs = { dnsNames: names, ...(this.trusted && { trusted: this.trusted }) };
    const reached = (instant: number | string) => this.now >= new Date(instant).getTime();
    if (this.secret !== undefined && webhookCertificate.valid(this.secret, inputs, { reached })) return false;
    const clock = { now: () => this.now } as Clock;
    const signal = new AbortController().signal;
    this.secret = await webhookCertificate.make(inputs, this.secret, { clock, signal });
    return true;
  }

  /** Copies the content of the Secret to the registration of the webhook. */
  register(): void {
    this.trusted = fingerprintsIn(caBundleOf(this.secret) ?? '');
  }

  text(key: string): string {
    return Buffer.from(this.secret?.data?.[key] ?? '', 'base64').toString('utf8');
  }

  get certificate(): X509Certificate {
    return new X509Certificate(this.text('tls.crt'));
  }

  /** Returns whether a server with this bundle accepts the certificate that is served. */
  isAccepted(): boolean {
    const bundle = this.text('ca.crt').match(/-----BEGIN[^-]+-----[^-]+-----END CERTIFICATE-----/g) ?? [];
    return bundle
      .map((pem) => new X509Certificate(pem))
      .filter(({ fingerprint256 }) => this.trusted?.includes(fingerprint256))
      .some((authority) => this.certificate.verify(authority.publicKey));
  }
}

async function begun(): Promise<Life> {
  const life = new Life();
  await life.check();
  life.register();
  return life;
}

describe('the certificate of the webhook', () => {
  test('is created once, and stays until two thirds of its lifetime are over', async () => {
    const life = await begun();
    const first = life.certificate.fingerprint256;
    life.now += 240 * DAY;
    assert.equal(await life.check(), false);
    life.now += 10 * DAY;
    const authority = life.text('ca.crt');
    assert.equal(await life.check(), true);
    assert.notEqual(life.certificate.fingerprint256, first);
    assert.equal(life.text('ca.crt'), authority, 'what the server trusts stays');
    assert.ok(life.isAccepted());
    assert.equal(await life.check(), false);
  });

  test('is recreated for other names, and if it cannot be read', async () => {
    const life = await begun();
    assert.equal(await life.check(['other', 'webhook']), true);
    assert.ok(life.certificate.checkHost('other'));
    for (const key of ['tls.crt', 'tls.key', 'ca.crt', 'ca.key']) {
      const { data = {} } = life.secret ?? {};
      life.secret = { ...(life.secret as Secret), data: { ...data, [key]: Buffer.from('garbage').toString('base64') } };
      assert.equal(await life.check(['other', 'webhook']), true, key);
      for (let checks = 0; await life.check(['other', 'webhook']); checks++) assert.ok(checks < 3, key);
      life.register();
      for (let checks = 0; await life.check(['other', 'webhook']); checks++) assert.ok(checks < 3, key);
      assert.ok(life.isAccepted(), key);
    }
  });

  test('the certificate of the webhook of a new authority is served only once the server trusts that authority', async () => {
    const life = await begun();
    const [first] = life.trusted ?? [];
    // Simulate ten years in steps of a month. The registration follows some checks later, as with a slow or absent operator.
    for (let month = 0; month < 130; month++) {
      life.now += 30 * DAY;
      while (await life.check()) assert.ok(life.isAccepted(), `month ${month}`);
      if (month % 2 === 0) {
        life.register();
        while (await life.check()) assert.ok(life.isAccepted(), `month ${month}`);
      }
      assert.ok(life.isAccepted(), `month ${month}`);
      assert.ok(life.certificate.validToDate.getTime() > life.now, `month ${month}`);
    }
    life.register();
    assert.notEqual(life.trusted?.[0], first, 'the authority was renewed');
    assert.ok((life.trusted?.length ?? 0) <= 2);
  });

  test('has the PEM form that servers need: a PKCS #8 key, without the key of the authority', async () => {
    const life = await begun();
    assert.match(life.text('tls.key'), /^-----BEGIN PRIVATE KEY-----/);
    assert.equal(life.text('tls.crt').match(/BEGIN CERTIFICATE/g)?.length, 1);
    assert.equal(life.certificate.ca, false);
  });
});
