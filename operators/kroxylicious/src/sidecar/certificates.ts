import { createWebhookCertificate } from '@capstan/reconcile/webhook';

export { caBundleOf, fingerprintsIn } from '@capstan/reconcile/webhook';

export const webhookCertificate = createWebhookCertificate('kroxylicious-webhook');
