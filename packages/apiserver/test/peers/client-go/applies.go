package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// applies sends large server-side applies one after the other from several workers, which share the client's connections.
func applies(ctx context.Context, config *rest.Config, namespace string, workers, each, size int) {
	config.QPS = -1
	client := kubernetes.NewForConfigOrDie(config)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			name := fmt.Sprintf("large-%d", worker)
			for round := range each {
				text := fmt.Sprintf("%d", round) + strings.Repeat("x", size)
				wanted := corev1.ConfigMap(name, namespace).WithData(map[string]string{"text": text})
				if _, err := client.CoreV1().ConfigMaps(namespace).Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: "test"}); err != nil {
					say(line{Event: "problem", Name: name, Word: err.Error()})
				}
			}
		})
	}
	group.Wait()
	say(line{Event: "done", Count: workers * each})
}

func newReader(text []byte) *bufio.Reader {
	return bufio.NewReader(io.NopCloser(strings.NewReader(string(text))))
}
